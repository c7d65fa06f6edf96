using RpcOverShm.Protocol;
using RpcOverShm.Sending;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Sending;

/// <summary>Parts of a message that are sent before the rest of it is serialized.</summary>
public class MessagePartTests
{
    private const int Chunk = FrameWriter.ChunkBytes;
    private const int Record = FrameWriter.CreditPerRecord;
    private const FrameFlags Only = FrameFlags.Single | FrameFlags.HalfClose;

    [Test]
    public void SendPart_AndTheRest_AreOneMessage()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        byte[] message = SenderRig.Pattern(100_000);

        Assert.That(rig.SendPart(call, message.AsSpan(0, Chunk), 100_000, Only), Is.EqualTo(Chunk));
        Assert.That(rig.SendPart(call, message.AsSpan(Chunk, 1), 100_000, Only), Is.EqualTo(1));
        rig.Send(call, message.AsSpan(Chunk + 1), Only);

        List<RawFrame> frames = rig.Peer.ReceiveAll();
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
        Assert.That(frames.SelectMany(frame => frame.Body), Is.EqualTo(message));
    }

    [Test]
    public void SendPart_IsVisibleAtOnce()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.Peer.ReceiveAll();

        rig.SendPart(call, SenderRig.Pattern(10), 1000, FrameFlags.None);

        Assert.That(rig.Peer.ReceiveAll().Single().Body, Has.Length.EqualTo(10));
    }

    [Test]
    public void SendPart_AfterAMessageOfAStream_BeginsAnother()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.SendPart(call, SenderRig.Pattern(10), 20, FrameFlags.None);
        rig.Send(call, SenderRig.Pattern(10));

        rig.SendPart(call, SenderRig.Pattern(5), 6, FrameFlags.None);

        RawFrame last = rig.Peer.ReceiveAll()[^1];
        Assert.That((last.Kind, last.Argument), Is.EqualTo((FrameKind.Message, 6u)));
    }

    [Test]
    public void SendPart_OfMoreThanTheCredit_SendsWhatIsCovered()
    {
        using var rig = new SenderRig(window: Chunk + 2000 + (2 * Record), ring: 1 << 20);
        RecordingCall call = rig.Start();

        int sent = rig.SendPart(call, SenderRig.Pattern(3 * Chunk), 4 * Chunk, FrameFlags.None);

        Assert.That(sent, Is.EqualTo(Chunk + 2000));
        Assert.That(call.Sending.Window, Is.Zero);
        Assert.That(rig.SendPart(call, SenderRig.Pattern(10), 4 * Chunk, FrameFlags.None), Is.Zero);
    }

    [Test]
    public void SendPart_OfMoreThanTheRing_SendsWhatFits()
    {
        using var rig = new SenderRig();
        RecordingCall call = rig.Start();

        int sent = rig.SendPart(call, SenderRig.Pattern(200_000), 300_000, Only);

        Assert.That(sent, Is.InRange(LinkPair.SmallRing / 2, LinkPair.SmallRing));
        Assert.That(rig.Peer.ReceiveAll().Sum(frame => frame.Body.Length), Is.EqualTo(sent));
    }

    [Test]
    public void SendPart_WhileAnotherCallWaits_LeavesItTheTurn()
    {
        using var rig = new SenderRig();
        RecordingCall call = rig.Start();
        rig.FillWithData();

        Assert.That(rig.SendPart(call, SenderRig.Pattern(10), 20, Only), Is.Zero);
    }

    [Test]
    public void SendPart_OfACallThatIsCutShort_SendsNothing()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.SendPart(call, SenderRig.Pattern(10), 1000, Only);
        rig.Sender.CutShort(call);

        Assert.That(rig.SendPart(call, SenderRig.Pattern(10), 1000, Only), Is.Zero);
        Assert.That(rig.Send(call, SenderRig.Pattern(10), Only).Result, Is.False, "Dropped.");
    }

    [Test]
    public void BreakOff_OfAMessageThatIsHalfSent_SaysSoAndSendsNoMoreOfIt()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.SendPart(call, SenderRig.Pattern(10), 1000, FrameFlags.None);

        Assert.That(rig.Sender.Messages.BreakOff(call));
        Assert.That(rig.SendPart(call, SenderRig.Pattern(10), 1000, FrameFlags.None), Is.Zero);
        Assert.That(rig.Send(call, SenderRig.Pattern(990)).Result, Is.False, "Dropped.");
    }

    [Test]
    public void BreakOff_BetweenMessages_LeavesWholeOnesAlone()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.Send(call, SenderRig.Pattern(10));

        Assert.That(rig.Sender.Messages.BreakOff(call), Is.False);
        Assert.That(rig.SendPart(call, SenderRig.Pattern(10), 1000, FrameFlags.None), Is.Zero);
        Assert.That(rig.Send(call, SenderRig.Pattern(1000)).Result, "A whole one still goes.");
    }

    [Test]
    public void SendPart_OfACallThatHasEnded_SendsNothing()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.Sender.Drop(call);

        Assert.That(rig.SendPart(call, SenderRig.Pattern(10), 1000, Only), Is.Zero);
    }
}
