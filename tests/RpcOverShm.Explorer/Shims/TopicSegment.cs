using RpcOverShm.Explorer.Model;
using RpcOverShm.Topics;

namespace RpcOverShm.Explorer.Shims;

/// <summary>A role's view of a topic's segment. The addresses of the words only name them.</summary>
internal sealed unsafe class TopicSegment(byte* address, MemoryMap map)
{
    public long Capacity => map.Capacity;

    public ref long Tail => ref Header->Tail;

    public ref long NewestRecord => ref Header->NewestRecord;

    public ref long OldestRecord => ref Header->OldestRecord;

    public ref long ParkedForSpace => ref Header->ParkedForSpace;

    public byte* Data => address + TopicLayout.HeaderSizeBytes;

    private TopicLayout* Header => (TopicLayout*)address;
}

/// <summary>A role's view of the page of a subscriber, with its words at the first place.</summary>
internal sealed unsafe class SubscriberPage(byte* address)
{
    public ref long Head => ref Words->Head;

    public ref long ParkedForData => ref Words->ParkedForData;

    private SubscriberLayout* Words => (SubscriberLayout*)(address + SubscriberLayout.OffsetOf(0));
}
