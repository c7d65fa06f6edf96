using System.Runtime.InteropServices;

namespace RpcOverShm.Segments;

/// <summary>
/// Where everything stands in a segment: the memory that one process writes and the other maps read-only.
/// <code>
/// offset  size  word              written by    read by
///      0     8  Magic             owner, once   people with a debugger
///      8     4  Version           owner, once   people with a debugger
///     12     4  (zero)
///     16     8  RingCapacity      owner, once   people with a debugger
///     24    16  ConnectionId      owner, once   people with a debugger
///    128     8  Tail              owner         peer: how far the owner has written its ring
///    256     8  ParkedForSpace    owner         peer: the owner sleeps until its ring has space
///    384     8  Head              owner         peer: how far the owner has read the peer's ring
///    512     8  ParkedForData     owner         peer: the owner sleeps until the peer's ring has data
///   4096     n  ring data         owner         peer
/// </code>
/// The first line is for diagnosis only: capacity and version are agreed in the handshake and kept in private memory.
/// Hot words are 128 bytes apart, because x64 prefetches lines in pairs and some arm64 processors have 128-byte lines.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = HeaderSizeBytes)]
internal struct SegmentLayout
{
    /// <summary>One page: ring data starts at a page boundary.</summary>
    public const int HeaderSizeBytes = 4096;

    /// <summary>Space between two words that different processors touch.</summary>
    public const int HotWordSpacingBytes = 128;

    /// <summary>"RPCOSHM" and the layout's number, as bytes in memory order.</summary>
    public const ulong MagicValue = 0x01_4D_48_53_4F_43_50_52;

    public const long MinRingCapacityBytes = 64L << 10;

    public const long MaxRingCapacityBytes = 1L << 30;

    [FieldOffset(0)]
    public ulong Magic;

    [FieldOffset(8)]
    public uint Version;

    [FieldOffset(16)]
    public long RingCapacity;

    [FieldOffset(24)]
    public Guid ConnectionId;

    [FieldOffset(128)]
    public long Tail;

    [FieldOffset(256)]
    public long ParkedForSpace;

    [FieldOffset(384)]
    public long Head;

    [FieldOffset(512)]
    public long ParkedForData;

    /// <summary>The size of the whole segment in bytes.</summary>
    public static long SizeBytes(long ringCapacity) => HeaderSizeBytes + ringCapacity;

    /// <summary>True for a power of two between the smallest and the largest ring.</summary>
    public static bool IsValidRingCapacity(long bytes) =>
        bytes is >= MinRingCapacityBytes and <= MaxRingCapacityBytes && (bytes & (bytes - 1)) == 0;
}
