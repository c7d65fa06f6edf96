using System.Runtime.InteropServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Topics;

/// <summary>
/// The words of one link of a subscribing process, in a page that the process writes and the publisher maps read-only.
/// <code>
/// offset  size  word           written by  meaning
///      0     8  Head           subscriber  position up to which every subscriber of the link that waits has read
///    128     8  ParkedForData  subscriber  its position, and how to wake it, while it sleeps; else 0
/// </code>
/// The words begin at one of 15 places in the page, which the publisher chooses. If all links had theirs at the same
/// place, they would compete for the same few lines of the publisher's first cache: its look at 100 of them after each
/// message then takes 0.45 µs instead of 0.14 µs.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = SizeBytes)]
internal struct SubscriberLayout
{
    public const int SizeBytes = 2 * SegmentLayout.HotWordSpacingBytes;

    /// <summary>The size of the memory of a link.</summary>
    public const int PageBytes = 4096;

    /// <summary>The number of places at which the words may begin.</summary>
    public const int Places = 15;

    [FieldOffset(0)]
    public long Head;

    [FieldOffset(128)]
    public long ParkedForData;

    /// <summary>Returns the offset in the page of the words at a place. No place has offset 0.</summary>
    public static int OffsetOf(int place) => SegmentLayout.HotWordSpacingBytes + (place * SizeBytes);
}
