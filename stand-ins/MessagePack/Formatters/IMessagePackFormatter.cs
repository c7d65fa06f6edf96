using System.ComponentModel;

namespace MessagePack.Formatters;

/// <summary>What all formatters are, whatever they write.</summary>
[EditorBrowsable(EditorBrowsableState.Never)]
#pragma warning disable CA1040 // It is empty in the package.
public interface IMessagePackFormatter
#pragma warning restore CA1040
{
}
