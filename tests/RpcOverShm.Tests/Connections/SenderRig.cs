using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// A sender at one end of a link, and at the other a peer that reads only when the test asks for it. What waits for
/// space is sent by an event loop, or by the test.
/// </summary>
internal sealed class SenderRig : IDisposable
{
    private readonly SenderSource _source;
    private int _spaceRequests;
    private bool _isClosed;

    public SenderRig(
        uint window = 1 << 20,
        uint maxCalls = 4,
        long ring = LinkPair.SmallRing,
        bool hasLoop = true,
        bool areGrown = true)
    {
        Links = new LinkPair(clientRing: ring, callWindow: window, maxCalls: maxCalls, areGrown: areGrown);
        Peer = new RawPeer(Links.Server);
        Sender = new FrameSender(Links.Client, Role) { RequestLoop = OnLoopRequested };
        _source = new SenderSource(Links.Client, Sender);
        if (hasLoop)
        {
            Links.Client.Start(_source, _source.Request);
        }
    }

    public ReaderRole Role { get; } = new();

    public LinkPair Links { get; }

    public RawPeer Peer { get; }

    public FrameSender Sender { get; }

    public OutgoingCalls Calls => Sender.Outgoing;

    /// <summary>The number of times that the sender has asked for the event loop.</summary>
    public int SpaceRequests => Volatile.Read(ref _spaceRequests);

    /// <summary>The position up to which the sender has published its ring.</summary>
    public long Tail => Links.ClientSegment.Own.Tail;

    /// <summary>Has the event loop look at the sender.</summary>
    public void RequestLoop() => _source.Request();

    public StartResult TryStart(RecordingCall call, ReadOnlySpan<byte> head = default) =>
        Sender.Start(call, FrameFlags.None, head, default);

    public RecordingCall Start(
        ReadOnlySpan<byte> head = default, ReadOnlySpan<byte> message = default, FrameFlags flags = FrameFlags.None)
    {
        var call = new RecordingCall();
        Assert.That(Sender.Start(call, flags, head, message), Is.EqualTo(StartResult.Started));
        return call;
    }

    public Task<bool> Send(RecordingCall call, ReadOnlySpan<byte> message, FrameFlags flags = FrameFlags.None) =>
        Sender.SendMessageAsync(call, flags, CopyOf(message));

    /// <summary>Sends a message without waiting for it.</summary>
    public void SendUnawaited(RecordingCall call, ReadOnlySpan<byte> message) =>
        Sender.SendMessage(call, FrameFlags.None, CopyOf(message));

    public int SendPart(RecordingCall call, ReadOnlySpan<byte> part, int wholeLength, FrameFlags flags) =>
        Sender.SendPart(call, flags, part, wholeLength);

    /// <summary>Adds credit as the reading thread does: the call's pending user code runs afterwards.</summary>
    public void AddCredit(RecordingCall call, uint bytes)
    {
        Sender.AddCredit(call, bytes);
        call.RunUserCode();
    }

    /// <summary>Fills the ring with parts of a message until it has no room for data.</summary>
    public RecordingCall FillWithData()
    {
        RecordingCall call = Start();
        Send(call, BytePattern.Of(500_000));
        return call;
    }

    /// <summary>Closes the sender, which must happen only once.</summary>
    public void CloseSender()
    {
        if (!_isClosed)
        {
            _isClosed = true;
            Sender.Close();
        }
    }

    public void Dispose()
    {
        Links.Client.Close(new CloseReason(CloseKind.Local, "The test is over."));
        CloseSender();
        _source.Loop?.Remove(_source);
        Links.Client.Leave();
        Peer.Dispose();
        Links.Dispose();
    }

    private void OnLoopRequested()
    {
        Interlocked.Increment(ref _spaceRequests);
        if (_source.Loop is not null)
        {
            _source.Request();
        }
    }

    private static PooledBufferWriter CopyOf(ReadOnlySpan<byte> message)
    {
        var bytes = new PooledBufferWriter();
        bytes.Write(message);
        return bytes;
    }
}
