using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>Parts of a message that are sent before the rest of it is serialized.</summary>
public class MessagePartTests
{
    private const int Chunk = FrameWriter.MaxPartBytes;
    private const int Record = FrameWriter.CreditPerRecord;
    private const FrameFlags Only = FrameFlags.Single | FrameFlags.HalfClose;

    private readonly SenderRig _rig = new(ring: 1 << 20);
    private readonly RecordingCall _call;

    public MessagePartTests() => _call = _rig.Start();

    [TearDown]
    public void Close() => _rig.Dispose();

    [Test]
    public void SendPart_AndTheRest_AreOneMessage()
    {
        byte[] message = BytePattern.Of(100_000);

        Assert.That(_rig.SendPart(_call, message.AsSpan(0, Chunk), 100_000, Only), Is.EqualTo(Chunk));
        Assert.That(_rig.SendPart(_call, message.AsSpan(Chunk, 1), 100_000, Only), Is.EqualTo(1));
        _rig.Send(_call, message.AsSpan(Chunk + 1), Only);

        List<RawFrame> frames = _rig.Peer.ReceiveAll();
        Assert.That(
            frames.Skip(1).Select(frame => (frame.Kind, frame.Flags, frame.Argument)),
            Is.EqualTo(new[]
            {
                (FrameKind.Message, FrameFlags.Single, 100_000u),
                (FrameKind.MessageChunk, FrameFlags.None, 0u),
                (FrameKind.MessageChunk, FrameFlags.None, 0u),
                (FrameKind.MessageChunk, FrameFlags.None, 0u),
                (FrameKind.MessageChunk, FrameFlags.HalfClose, 0u),
            }));
        SameBytes.Assert([.. frames.SelectMany(frame => frame.Body)], message);
    }

    [Test]
    public void SendPart_IsVisibleAtOnce()
    {
        _rig.Peer.ReceiveAll();

        _rig.SendPart(_call, BytePattern.Of(10), 1000, FrameFlags.None);

        Assert.That(_rig.Peer.ReceiveAll().Single().Body, Has.Length.EqualTo(10));
    }

    [Test]
    public void SendPart_AfterAMessageOfAStream_BeginsAnother()
    {
        _rig.SendPart(_call, BytePattern.Of(10), 20, FrameFlags.None);
        _rig.Send(_call, BytePattern.Of(10));

        _rig.SendPart(_call, BytePattern.Of(5), 6, FrameFlags.None);

        RawFrame last = _rig.Peer.ReceiveAll()[^1];
        Assert.That((last.Kind, last.Argument), Is.EqualTo((FrameKind.Message, 6u)));
    }

    [Test]
    public void SendPart_OfMoreThanTheCredit_SendsWhatIsCovered()
    {
        using var rig = new SenderRig(window: Chunk + 2000 + (2 * Record), ring: 1 << 20);
        RecordingCall call = rig.Start();

        int sent = rig.SendPart(call, BytePattern.Of(3 * Chunk), 4 * Chunk, FrameFlags.None);

        Assert.That(sent, Is.EqualTo(Chunk + 2000));
        Assert.That(call.Sending.Credit, Is.Zero);
        Assert.That(rig.SendPart(call, BytePattern.Of(10), 4 * Chunk, FrameFlags.None), Is.Zero);
    }

    [Test]
    public void SendPart_OfMoreThanTheRing_SendsWhatFits()
    {
        using var rig = new SenderRig();
        RecordingCall call = rig.Start();

        int sent = rig.SendPart(call, BytePattern.Of(200_000), 300_000, Only);

        Assert.That(sent, Is.InRange(LinkPair.SmallRing / 2, LinkPair.SmallRing));
        Assert.That(rig.Peer.ReceiveAll().Sum(frame => frame.Body.Length), Is.EqualTo(sent));
    }

    [Test]
    public void SendPart_WhileAnotherCallWaits_LeavesItTheTurn()
    {
        using var rig = new SenderRig();
        RecordingCall call = rig.Start();
        rig.FillWithData();

        Assert.That(rig.SendPart(call, BytePattern.Of(10), 20, Only), Is.Zero);
    }

    [Test]
    public void SendPart_OfACallThatIsCutShort_SendsNothing()
    {
        _rig.SendPart(_call, BytePattern.Of(10), 1000, Only);
        _rig.Sender.StopMessages(_call);

        Assert.That(_rig.SendPart(_call, BytePattern.Of(10), 1000, Only), Is.Zero);
        Assert.That(_rig.Send(_call, BytePattern.Of(10), Only).Result, Is.False, "Dropped.");
    }

    [Test]
    public void BreakOff_OfAMessageThatIsHalfSent_SaysSoAndSendsNoMoreOfIt()
    {
        _rig.SendPart(_call, BytePattern.Of(10), 1000, FrameFlags.None);

        Assert.That(_rig.Sender.StopParts(_call));
        Assert.That(_rig.SendPart(_call, BytePattern.Of(10), 1000, FrameFlags.None), Is.Zero);
        Assert.That(_rig.Send(_call, BytePattern.Of(990)).Result, Is.False, "Dropped.");
    }

    [Test]
    public void BreakOff_BetweenMessages_LeavesWholeOnesAlone()
    {
        _rig.Send(_call, BytePattern.Of(10));

        Assert.That(_rig.Sender.StopParts(_call), Is.False);
        Assert.That(_rig.SendPart(_call, BytePattern.Of(10), 1000, FrameFlags.None), Is.Zero);
        Assert.That(_rig.Send(_call, BytePattern.Of(1000)).Result, "A whole one still goes.");
    }

    [Test]
    public void SendPart_OfACallThatHasEnded_SendsNothing()
    {
        _rig.Sender.Drop(_call);

        Assert.That(_rig.SendPart(_call, BytePattern.Of(10), 1000, Only), Is.Zero);
    }
}
