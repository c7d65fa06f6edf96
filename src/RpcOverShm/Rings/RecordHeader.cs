using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RpcOverShm.Rings;

/// <summary>
/// The header of every record in a ring, 16 bytes, little-endian, 16-byte aligned; the payload follows.
/// <code>
///  0               4   5   6       8              12             16
///  +---------------+---+---+-------+---------------+---------------+----
///  | PayloadLength | K | F | Head  | StreamId      | Argument      | payload ...
///  +---------------+---+---+-------+---------------+---------------+----
///    K: Kind, 0 is never valid (a hole punched into the file reads as zeros)   F: Flags
/// </code>
/// The ring itself knows one kind, the padding; all the rest means something to its users only.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4, Size = SizeBytes)]
internal readonly struct RecordHeader(
    uint payloadLength, byte kind, byte flags, ushort headLength, uint streamId, uint argument)
{
    public const int SizeBytes = 16;

    /// <summary>Fills the rest of the ring's data when a record does not fit before its end.</summary>
    public const byte PaddingKind = 0xFF;

    /// <summary>Bytes that follow the header, without the filling up to the next multiple of 16.</summary>
    public readonly uint PayloadLength = payloadLength;

    public readonly byte Kind = kind;

    public readonly byte Flags = flags;

    /// <summary>How many bytes at the start of the payload belong to the frame's head.</summary>
    public readonly ushort HeadLength = headLength;

    public readonly uint StreamId = streamId;

    /// <summary>What this is depends on the kind.</summary>
    public readonly uint Argument = argument;

    /// <summary>The bytes that a record takes in the ring. In 64 bits: a hostile length must not overflow.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long RecordLength(long payloadLength) => (SizeBytes + payloadLength + 15) & ~15L;
}
