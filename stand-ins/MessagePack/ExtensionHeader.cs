namespace MessagePack;

/// <summary>Says of an extension what its bytes mean and how many there are.</summary>
// The package compares headers by this one method only.
#pragma warning disable CA1066, CA1067, CA1815, CA2231
public struct ExtensionHeader : IEquatable<ExtensionHeader>
#pragma warning restore CA1066, CA1067, CA1815, CA2231
{
    public ExtensionHeader(sbyte typeCode, uint length)
    {
        TypeCode = typeCode;
        Length = length;
    }

    public ExtensionHeader(sbyte typeCode, int length)
        : this(typeCode, (uint)length)
    {
    }

    public sbyte TypeCode { get; }

    public uint Length { get; }

    public readonly bool Equals(ExtensionHeader other) => TypeCode == other.TypeCode && Length == other.Length;
}
