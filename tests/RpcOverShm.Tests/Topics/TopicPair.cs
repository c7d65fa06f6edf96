using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Tests.Windows;
using RpcOverShm.Topics;

namespace RpcOverShm.Tests.Topics;

/// <summary>
/// A topic's ring with its publisher and one reader, each with a mapping of its own as in two processes. All words are
/// writable, so that a test can play the hostile side of either.
/// </summary>
internal sealed unsafe class TopicPair : IDisposable
{
    private readonly TopicSegment _view;

    public TopicPair(long capacity)
    {
        Own = TopicSegment.Create(capacity, 7);
        _view = TopicSegment.Open(Copy(Own.Handle), capacity);
        Writer = new TopicWriter(Own);
        Reader = NewReader(new TopicStart(0, 0));
    }

    /// <summary>The publisher's mapping.</summary>
    public TopicSegment Own { get; }

    public TopicWriter Writer { get; }

    public TopicReader Reader { get; }

    public Span<byte> Data => new(Own.Data, (int)Own.Capacity);

    public TopicReader NewReader(TopicStart start) => new(_view, start);

    public bool TryWrite(byte[] payload, long minimumHead = long.MaxValue) =>
        Writer.TryWrite(new ReadOnlySequence<byte>(payload), minimumHead);

    /// <summary>Publishes messages with these numbers of bytes, each filled with the number of the message.</summary>
    public void Publish(params int[] lengths)
    {
        foreach (int length in lengths)
        {
            byte[] payload = new byte[length];
            payload.AsSpan().Fill((byte)Writer.Now.Sequence);
            Assert.That(TryWrite(payload), "Nobody waits.");
            Writer.Publish();
        }
    }

    /// <summary>Reads one message, which must be there.</summary>
    public static byte[] Read(TopicReader reader, out TopicRecord record)
    {
        Assert.That(reader.TryRead(out record), Is.EqualTo(TopicState.Message));
        byte[] copy = new byte[record.Length];
        Assert.That(reader.TryCopy(copy));
        return copy;
    }

    public void Dispose()
    {
        _view.Dispose();
        Own.Dispose();
    }

    private static SafeHandle Copy(SafeHandle handle) =>
        OperatingSystem.IsWindows() ? Handles.OfPeer(handle) : Descriptors.Duplicate(handle);
}
