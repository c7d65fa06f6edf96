using System.Buffers;

namespace MessagePack;

/// <summary>An extension with its bytes, which are those of the buffer that was read.</summary>
#pragma warning disable CA1815 // The package does not compare these.
public struct ExtensionResult
#pragma warning restore CA1815
{
    public ExtensionResult(sbyte typeCode, Memory<byte> data)
        : this(typeCode, new ReadOnlySequence<byte>(data))
    {
    }

    public ExtensionResult(sbyte typeCode, ReadOnlySequence<byte> data)
    {
        TypeCode = typeCode;
        Data = data;
    }

    public sbyte TypeCode { get; }

    public ReadOnlySequence<byte> Data { get; }

    public readonly ExtensionHeader Header => new(TypeCode, checked((uint)Data.Length));
}
