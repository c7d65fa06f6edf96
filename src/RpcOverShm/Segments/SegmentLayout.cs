using System.Runtime.InteropServices;

namespace RpcOverShm.Segments;

/// <summary>
/// The layout of a segment: memory that one process, its owner, writes and the other maps read-only.
/// <code>
/// offset  size  word              written by    read by
///      0     8  Magic             owner, once   debuggers
///      8     4  Version           owner, once   debuggers
///     12     4  (zero)
///     16     8  RingCapacity      owner, once   debuggers
///     24    16  ConnectionId      owner, once   debuggers
///    128     8  Tail              owner         peer: position up to which the owner has written its ring
///    256     8  ParkedForSpace    owner         peer: whether the owner sleeps until its ring has space
///    384     8  Head              owner         peer: position up to which the owner has read the peer's ring
///    512     8  ParkedForData     owner         peer: whether the owner sleeps until the peer's ring has data
///    640     8  TopicParking     owner         peer: whether the owner sleeps until a topic of the peer has messages
///   4096     n  first ring        owner         peer
/// 4096+n     m  second ring       owner         peer, after the record that says that the owner has moved there
/// </code>
/// A segment with a capacity of 64 KiB or less has one ring of that size. A larger one has a first ring of 64 KiB, and
/// a second one of its capacity, which has no memory until the owner needs it.
/// The first four fields are for diagnosis only: the handshake agrees on capacity and version, which each process keeps
/// in private memory. Hot words are 128 bytes apart, because x64 prefetches cache lines in pairs and some arm64
/// processors have 128-byte lines.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = HeaderSizeBytes)]
internal struct SegmentLayout
{
    /// <summary>One page, so that ring data starts at a page boundary.</summary>
    public const int HeaderSizeBytes = 4096;

    /// <summary>The distance that prevents false sharing between two hot words.</summary>
    public const int HotWordSpacingBytes = 128;

    /// <summary>The bytes "RPCOSHM" and the layout's number, in memory order.</summary>
    public const ulong MagicValue = 0x01_4D_48_53_4F_43_50_52;

    /// <summary>The size of the first ring, which is all that most connections ever use.</summary>
    public const long FirstRingBytes = 64L << 10;

    public const long MinRingCapacityBytes = FirstRingBytes;

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

    [FieldOffset(640)]
    public long TopicParking;

    /// <summary>Returns the size of the ring with which a segment of this capacity begins.</summary>
    public static long FirstRingCapacity(long ringCapacity) => Math.Min(ringCapacity, FirstRingBytes);

    /// <summary>Returns the size of the ring to which its owner may move; 0 if there is none.</summary>
    public static long SecondRingCapacity(long ringCapacity) => ringCapacity > FirstRingBytes ? ringCapacity : 0;

    /// <summary>Returns the bytes that have memory from the beginning: the header and the first ring.</summary>
    public static long FirstSizeBytes(long ringCapacity) => HeaderSizeBytes + FirstRingCapacity(ringCapacity);

    /// <summary>Returns the size of the whole segment.</summary>
    public static long SizeBytes(long ringCapacity) =>
        FirstSizeBytes(ringCapacity) + SecondRingCapacity(ringCapacity);

    /// <summary>Returns whether the capacity is a power of two within the limits.</summary>
    public static bool IsValidRingCapacity(long bytes) =>
        bytes is >= MinRingCapacityBytes and <= MaxRingCapacityBytes && (bytes & (bytes - 1)) == 0;
}
