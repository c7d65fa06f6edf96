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

    public byte* Data => address + TopicLayout.HeaderSizeBytes;

    private TopicLayout* Header => (TopicLayout*)address;
}
