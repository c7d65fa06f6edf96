using RpcOverShm.Explorer.Model;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Explorer.Shims;

/// <summary>
/// A role's view of a segment, with the members that rings and links use. The addresses of the words only name them;
/// the ring data is real memory, in which plain stores are found.
/// </summary>
internal sealed unsafe class SharedSegment(byte* address, MemoryMap map)
{
    public const int HeaderBytes = SegmentLayout.HeaderSizeBytes;

    public long FirstCapacity => map.Capacity;

    public long SecondCapacity => map.SecondCapacity;

    public ref long Tail => ref Header->Tail;

    public ref long Head => ref Header->Head;

    public ref long ParkedForData => ref Header->ParkedForData;

    public ref long ParkedForSpace => ref Header->ParkedForSpace;

    /// <summary>In a scenario with a topic, no ring has this word.</summary>
    public ref long TopicParking => ref Header->ParkedForData;

    public byte* Data => address + HeaderBytes;

    public byte* SecondData => Data + map.Capacity;

    /// <summary>Checks nothing: in the model all memory is there.</summary>
    public void CheckSecond() => _ = map;

    private SegmentLayout* Header => (SegmentLayout*)address;
}
