namespace MessagePack.Tests.Values;

/// <summary>Somebody's own dictionary.</summary>
public class Register : Dictionary<string, int>
{
}
