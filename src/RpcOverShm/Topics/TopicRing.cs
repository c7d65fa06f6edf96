using System.Buffers;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>The newest messages of a topic, serialised, in a segment that the clients map.</summary>
internal sealed class TopicRing : TopicBuffer<ReadOnlyMemory<byte>>
{
    private readonly TopicWriter _writer;
    private TopicStart _oldest; // nothing before it is history

    /// <summary>Creates the segment.</summary>
    /// <exception cref="SegmentException">The system has no memory for it.</exception>
    public TopicRing(long capacity)
    {
        Segment = TopicSegment.Create(capacity, 0);
        _writer = new TopicWriter(Segment);
    }

    public TopicSegment Segment { get; }

    /// <summary>The largest message, in bytes.</summary>
    public int LargestMessage => _writer.MaxPayloadBytes;

    protected override long Tail => _writer.Tail;

    protected override bool TryWriteItem(ReadOnlyMemory<byte> item, long smallestHeld) =>
        _writer.TryWrite(new ReadOnlySequence<byte>(item), smallestHeld);

    protected override long NeededPosition(ReadOnlyMemory<byte> item) => _writer.NeededHead(item.Length);

    protected override void PublishItems() => _writer.Publish();

    protected override void ForgetItems() => _oldest = _writer.Now;

    protected override TopicStart FindStart(bool isOldest)
    {
        TopicStart oldest = _writer.Oldest.Position > _oldest.Position ? _writer.Oldest : _oldest;
        return isOldest ? oldest : _writer.Now;
    }

    protected override void Free() => Segment.Dispose();
}
