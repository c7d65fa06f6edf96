using RpcOverShm.Segments;

namespace RpcOverShm.Explorer.Shims;

/// <summary>
/// A role's view of a segment, with the members that rings and links use. The addresses of the words only name them;
/// the ring data is real memory, in which plain stores are found.
/// </summary>
internal sealed unsafe class SharedSegment(byte* address, long ringCapacity)
{
    public const int HeaderBytes = SegmentLayout.HeaderSizeBytes;

    public long RingCapacity => ringCapacity;

    public ref long Tail => ref Header->Tail;

    public ref long Head => ref Header->Head;

    public ref long ParkedForData => ref Header->ParkedForData;

    public ref long ParkedForSpace => ref Header->ParkedForSpace;

    public byte* Data => address + HeaderBytes;

    private SegmentLayout* Header => (SegmentLayout*)address;
}
