using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RpcOverShm.Rings;

/// <summary>
/// The header of a record in a ring: 16 bytes, little-endian, 16-byte aligned. The payload follows it.
/// <code>
///  0               4   5   6       8              12             16
///  +---------------+---+---+-------+---------------+---------------+----
///  | PayloadLength | K | F | Head  | StreamId      | Argument      | payload ...
///  +---------------+---+---+-------+---------------+---------------+----
///    K: Kind, 0 is never valid (a hole punched into the file reads as zeros)   F: Flags
/// </code>
/// The ring interprets the length and its own two kinds only; the protocol defines the other fields.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4, Size = SizeBytes)]
internal readonly struct RecordHeader(
    uint payloadLength, byte kind, byte flags, ushort headLength, uint streamId, uint argument)
{
    public const int SizeBytes = 16;

    /// <summary>The kind that fills the end of the ring data if a record does not fit there.</summary>
    public const byte PaddingKind = 0xFF;

    /// <summary>The kind that says that all later records are in the second ring. It has no payload.</summary>
    public const byte MovedKind = 0xFE;

    /// <summary>Bytes that follow the header, without the fill to the next multiple of 16.</summary>
    public readonly uint PayloadLength = payloadLength;

    public readonly byte Kind = kind;

    public readonly byte Flags = flags;

    /// <summary>Bytes at the start of the payload that belong to the frame's head.</summary>
    public readonly ushort HeadLength = headLength;

    public readonly uint StreamId = streamId;

    /// <summary>A number; the kind defines its meaning.</summary>
    public readonly uint Argument = argument;

    /// <summary>Returns the header that two words of a ring hold.</summary>
    public static RecordHeader FromWords(ulong first, ulong second) => new(
        (uint)first,
        (byte)(first >> 32),
        (byte)(first >> 40),
        (ushort)(first >> 48),
        (uint)second,
        (uint)(second >> 32));

    /// <summary>Returns a record's bytes in the ring. 64 bits, so that a hostile length cannot overflow.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long RecordLength(long payloadLength) => (SizeBytes + payloadLength + 15) & ~15L;
}
