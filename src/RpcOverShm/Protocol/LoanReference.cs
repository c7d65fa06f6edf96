using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// A reference to bytes in a data file of the sender, in the place of a message's bytes.
/// <code>
/// offset  size  field
///      0     4  File      number of the file
///      4     4  Block     of 64 KiB, at which the bytes begin
///      8     4  Length    in bytes, 1 or more
///     12     4  Zero      0
/// </code>
/// </summary>
internal readonly record struct LoanReference(uint File, uint Block, uint Length)
{
    public const int SizeBytes = 16;

    /// <summary>The bytes of a block: pieces begin at multiples of this.</summary>
    public const int BlockBytes = 64 << 10;

    /// <summary>The references that a side has sent and not got back, at most: further messages go as bytes.</summary>
    public const int MostOnLoan = 16 << 10;

    /// <summary>Decodes the reference that a payload begins with.</summary>
    /// <exception cref="ProtocolException">There are too few bytes, or a field is not allowed.</exception>
    public static LoanReference Decode(ReadOnlySpan<byte> payload)
    {
        if (payload.Length < SizeBytes)
        {
            throw new ProtocolException($"The peer sent a reference of {payload.Length} bytes; it has {SizeBytes}.");
        }

        var reference = new LoanReference(
            BinaryPrimitives.ReadUInt32LittleEndian(payload),
            BinaryPrimitives.ReadUInt32LittleEndian(payload[4..]),
            BinaryPrimitives.ReadUInt32LittleEndian(payload[8..]));
        uint zero = BinaryPrimitives.ReadUInt32LittleEndian(payload[12..]);
        return reference.Length is > 0 and <= int.MaxValue && zero == 0
            ? reference
            : throw new ProtocolException(
                $"The peer sent a reference to {reference.Length} bytes with a field {zero}.");
    }

    public void Encode(Span<byte> payload)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(payload, File);
        BinaryPrimitives.WriteUInt32LittleEndian(payload[4..], Block);
        BinaryPrimitives.WriteUInt32LittleEndian(payload[8..], Length);
        BinaryPrimitives.WriteUInt32LittleEndian(payload[12..], 0);
    }
}

/// <summary>A piece that its receiver gives back: one of the entries of a Returned frame.</summary>
/// <param name="File">The number of the file.</param>
/// <param name="Block">The block at which the piece begins.</param>
internal readonly record struct ReturnedPiece(uint File, uint Block)
{
    public const int SizeBytes = 8;

    public static ReturnedPiece Decode(ReadOnlySpan<byte> entry) => new(
        BinaryPrimitives.ReadUInt32LittleEndian(entry), BinaryPrimitives.ReadUInt32LittleEndian(entry[4..]));

    public void Encode(Span<byte> entry)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(entry, File);
        BinaryPrimitives.WriteUInt32LittleEndian(entry[4..], Block);
    }
}
