using System.Runtime.InteropServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Topics;

/// <summary>
/// The layout of a topic's segment: memory that the publisher writes and every subscriber's process maps read-only.
/// <code>
/// offset  size  word             written by       meaning
///      0     8  Magic            publisher, once  for debuggers
///      8     4  Version          publisher, once  likewise
///     16     8  RingCapacity     publisher, once  likewise
///     24     8  Generation       publisher, once  likewise
///    128     8  Tail             publisher        position after the last published record
///    256     8  NewestRecord     publisher        position of that record; stored before Tail
///    384     8  OldestRecord     publisher        no record before it is whole; stored before that is overwritten
///   4096     n  ring             publisher
/// </code>
/// The first four fields are for diagnosis only, as those of <see cref="SegmentLayout"/>.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = HeaderSizeBytes)]
internal struct TopicLayout
{
    /// <summary>One page, so that ring data starts at a page boundary.</summary>
    public const int HeaderSizeBytes = 4096;

    /// <summary>The bytes "RPCOTOP" and the layout's number, in memory order.</summary>
    public const ulong MagicValue = 0x01_50_4F_54_4F_43_50_52;

    [FieldOffset(0)]
    public ulong Magic;

    [FieldOffset(8)]
    public uint Version;

    [FieldOffset(16)]
    public long RingCapacity;

    [FieldOffset(24)]
    public long Generation;

    [FieldOffset(128)]
    public long Tail;

    [FieldOffset(256)]
    public long NewestRecord;

    [FieldOffset(384)]
    public long OldestRecord;
}
