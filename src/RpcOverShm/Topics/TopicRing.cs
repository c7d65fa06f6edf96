using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>The newest messages of a topic, serialised, in a segment that the clients map.</summary>
internal sealed class TopicRing : TopicBuffer<ReadOnlyMemory<byte>>
{
    private readonly TopicWriter _writer;
    private long _oldest; // nothing before it is history

    /// <summary>Creates the segment.</summary>
    /// <exception cref="SegmentException">The system has no memory for it.</exception>
    public TopicRing(long capacity)
    {
        Segment = TopicSegment.Create(capacity);
        _writer = new TopicWriter(Segment);
    }

    public TopicSegment Segment { get; }

    /// <summary>The largest message, in bytes.</summary>
    public int LargestMessage => _writer.LargestMessage;

    protected override long Tail => _writer.Tail;

    protected override bool TryWriteItem(ReadOnlyMemory<byte> item, long smallestHeld) =>
        _writer.TryWrite(item.Span, smallestHeld);

    protected override long NeededPosition(ReadOnlyMemory<byte> item) => _writer.NeededHead(item.Length);

    protected override void PublishItems() => _writer.Publish();

    protected override void ForgetItems() => _oldest = _writer.Tail;

    protected override (long Position, long Sequence) FindStart(bool isOldest) =>
        isOldest && _writer.Oldest is var oldest && oldest.Position >= _oldest
            ? oldest
            : (_writer.Tail, _writer.NextSequence);

    protected override void Free() => Segment.Dispose();
}
