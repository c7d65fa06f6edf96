using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Sending;

/// <summary>A sender at one end of a link, and a peer at the other that reads only when the test does.</summary>
internal sealed class SenderRig : IDisposable
{
    public SenderRig(uint window = 1 << 20, uint maxCalls = 4, long ring = LinkPair.SmallRing)
    {
        Links = new LinkPair(clientRing: ring, callWindow: window, maxCalls: maxCalls);
        Peer = new RawPeer(Links.Server);
        Sender = new FrameSender(Links.Client, new ReaderRole());
    }

    public LinkPair Links { get; }

    public RawPeer Peer { get; }

    public FrameSender Sender { get; }

    public OutgoingCalls Calls => Sender.Outgoing;

    /// <summary>How far the sender's ring is written, as the peer can see.</summary>
    public long Tail => Links.ClientSegment.Own.Tail;

    public static byte[] Pattern(int length)
    {
        byte[] bytes = new byte[length];
        new BytePattern(1).Fill(bytes);
        return bytes;
    }

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
        Sender.Messages.SendAsync(call, flags, CopyOf(message));

    /// <summary>Sends what nobody waits for.</summary>
    public void SendUnawaited(RecordingCall call, ReadOnlySpan<byte> message) =>
        Sender.Messages.Send(call, FrameFlags.None, CopyOf(message));

    public int SendPart(RecordingCall call, ReadOnlySpan<byte> part, int wholeLength, FrameFlags flags) =>
        Sender.Messages.SendPart(call, flags, part, wholeLength);

    /// <summary>Credit as the reading thread takes it: what it makes due for the call runs afterwards.</summary>
    public void AddCredit(RecordingCall call, uint bytes)
    {
        Sender.AddCredit(call, bytes);
        call.RunUserCode();
    }

    /// <summary>Takes frames of one call up to its half-close; returns the bytes of its messages.</summary>
    public byte[] ReceiveMessages(RecordingCall call)
    {
        var bytes = new List<byte>();
        RawFrame frame;
        do
        {
            frame = Peer.Receive();
            Assert.That(frame.Call, Is.EqualTo(call.Id));
            bytes.AddRange(frame.Body);
        }
        while ((frame.Flags & FrameFlags.HalfClose) == 0);
        return [.. bytes];
    }

    /// <summary>Fills the ring with parts of a message, until data finds no more room.</summary>
    public RecordingCall FillWithData()
    {
        RecordingCall call = Start();
        Send(call, Pattern(500_000));
        return call;
    }

    public void Dispose()
    {
        Links.Client.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Sender.Close();
        Links.Client.Leave();
        Peer.Dispose();
        Links.Dispose();
    }

    private static PooledBufferWriter CopyOf(ReadOnlySpan<byte> message)
    {
        var bytes = new PooledBufferWriter();
        bytes.Write(message);
        return bytes;
    }
}
