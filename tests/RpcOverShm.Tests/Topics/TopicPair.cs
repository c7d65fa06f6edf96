using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Tests.Windows;
using RpcOverShm.Topics;

namespace RpcOverShm.Tests.Topics;

/// <summary>
/// A topic's ring with its publisher and one link, each with mappings of its own as in two processes. All words are
/// writable, so that a test can play the hostile side of either.
/// </summary>
internal sealed unsafe class TopicPair : IDisposable
{
    private readonly TopicSegment _view;
    private readonly SubscriberPage _pageView;

    public TopicPair(long capacity, int place = 0)
    {
        Own = TopicSegment.Create(capacity, 7);
        _view = TopicSegment.Open(Copy(Own.Handle), capacity);
        Page = SubscriberPage.Create(place);
        _pageView = SubscriberPage.Open(Copy(Page.Handle), place);
        Writer = new TopicWriter(Own);
        View = new SubscriberView(_pageView);
        Words = new SubscriberWords(Page, _view, 0);
        Reader = NewReader(new TopicStart(0, 0));
    }

    /// <summary>The publisher's mapping.</summary>
    public TopicSegment Own { get; }

    /// <summary>The subscriber's mapping of its own words.</summary>
    public SubscriberPage Page { get; }

    public TopicWriter Writer { get; }

    public SubscriberView View { get; }

    public SubscriberWords Words { get; }

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
        _pageView.Dispose();
        Own.Dispose();
        Page.Dispose();
    }

    private static SafeHandle Copy(SafeHandle handle) =>
        OperatingSystem.IsWindows() ? Handles.OfPeer(handle) : Descriptors.Duplicate(handle);
}
