using System.Collections.ObjectModel;

namespace MessagePack.Tests.Values;

/// <summary>Somebody's own collection.</summary>
public class Bag : Collection<int>
{
}
