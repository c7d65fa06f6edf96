using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

/// <summary>Legal frames: the call that each one reaches, and the callback that it triggers.</summary>
public class FrameReceiverTests
{
    private const int HeadLimit = (64 << 10) + (256 << 10);

    [Test]
    public void CallStart_WithHeadAndMessage_StartsACall()
    {
        using var rig = new ServingRig();
        const FrameFlags Flags = FrameFlags.HasMessage | FrameFlags.HalfClose;

        rig.Peer.Send(new RawFrame(FrameKind.CallStart, ServingRig.Id(5), Flags, [1, 2, 3], [4, 5]));

        RecordingCall call = rig.Take();
        rig.Settle();
        Assert.That(call.Id, Is.EqualTo(ServingRig.Id(5)));
        Assert.That(call.Events, Is.EqualTo((string[])[$"start {Flags}: 3, 2"]));
        Assert.That(call.LastHead, Is.EqualTo((byte[])[1, 2, 3]));
        Assert.That(call.ReceivedMessage, Is.EqualTo((byte[])[4, 5]));
        Assert.That(rig.Connection.IncomingCount, Is.EqualTo(1));
    }

    [Test]
    public void CallStart_WithAHeadInParts_StartsTheCallOnceItIsWhole()
    {
        using var rig = new ServingRig();
        rig.Peer.Send(new RawFrame(
            FrameKind.CallStart, ServingRig.Id(0), FrameFlags.HeadContinues | FrameFlags.HalfClose, [1, 2]));
        RecordingCall call = rig.Take();
        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, ServingRig.Id(0), FrameFlags.HeadContinues, [3]));
        rig.Settle();
        Assert.That(call.Events, Is.Empty);

        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, ServingRig.Id(0), FrameFlags.None, [4]));
        rig.Settle();

        Assert.That(call.Events, Is.EqualTo((string[])["start HalfClose: 4, 0"]));
        Assert.That(call.LastHead, Is.EqualTo((byte[])[1, 2, 3, 4]));
    }

    [Test]
    public void HeadsInParts_OfTwoCalls_DoNotMix()
    {
        using var rig = new ServingRig();
        for (int slot = 0; slot < 2; slot++)
        {
            byte mark = (byte)(10 * (slot + 1));
            rig.Peer.Send(new RawFrame(FrameKind.CallStart, ServingRig.Id(slot), FrameFlags.HeadContinues, [mark]));
        }

        for (int slot = 0; slot < 2; slot++)
        {
            byte mark = (byte)((10 * (slot + 1)) + 1);
            rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, ServingRig.Id(slot), FrameFlags.None, [mark]));
        }

        rig.Settle();
        Assert.That(rig.Take().LastHead, Is.EqualTo((byte[])[10, 11]));
        Assert.That(rig.Take().LastHead, Is.EqualTo((byte[])[20, 21]));
    }

    [Test]
    public void CallStart_WithAHeadBeyondTheLimit_CostsTheCallAndNothingElse()
    {
        using var rig = new ServingRig();
        SendHead(rig.Peer, FrameKind.CallStart, ServingRig.Id(0), HeadLimit + 1);
        rig.Peer.Send(new RawFrame(FrameKind.CallStart, ServingRig.Id(1), Head: [1]));
        rig.Settle();

        Assert.That(rig.Take().Events, Is.EqualTo((string[])["head too large: CallStart"]));
        Assert.That(rig.Take().Events, Has.One.Items);
        Assert.That(rig.Connection.CloseReason, Is.Null);
    }

    [Test]
    public void HeadBeyondTheLimit_FailsItsCallBeforeItsEnd_AndOnce([Values] bool isOfAnAnswer)
    {
        FrameKind kind = isOfAnAnswer ? FrameKind.Headers : FrameKind.CallStart;
        using var serving = new ServingRig();
        using var calling = new CallingRig();
        RecordingCall? call = isOfAnAnswer ? calling.Start() : null;
        RawPeer peer = call is null ? serving.Peer : calling.Peer;
        CallId id = call?.Id ?? ServingRig.Id(0);
        SendHead(peer, kind, id, HeadLimit + 1, isWhole: false);
        call ??= serving.Take();
        string[] failed = [$"head too large: {kind}"];
        Assert.That(() => call.Events, Is.EqualTo(failed).After(20_000, 2));

        peer.Send(new RawFrame(FrameKind.HeadChunk, id, FrameFlags.HeadContinues, [1]));
        peer.Send(new RawFrame(FrameKind.HeadChunk, id, FrameFlags.None, [1]));
        if (!isOfAnAnswer)
        {
            serving.Settle();
            Assert.That(call.Events, Is.EqualTo(failed));
            Assert.That(serving.Connection.CloseReason, Is.Null);
        }
        else
        {
            peer.Send(new RawFrame(FrameKind.End, id));
            Assert.That(() => call.Events, Is.EqualTo((string[])[.. failed, "end None: 0, 0"]).After(20_000, 2));
        }
    }

    // A server's callback whose client answers with half a head: the time of requests is not for it.
    [Test]
    public async Task Answer_WithAHeadThatIsLate_IsTakenWhenItIsWhole()
    {
        var budget = new BufferBudget("Limit", limitBytes: 1 << 20);
        using var rig = new CallingRig(bounds: new IncomingBounds(budget, TimeSpan.FromMilliseconds(1)));
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.Headers, call.Id, FrameFlags.HeadContinues, [1, 2]));
        Assert.That(() => rig.Links.Client.Reader.HasData, Is.False.After(20_000, 2));
        var later = new TaskCompletionSource();
        using var due = new DueTime(TimeSpan.FromMilliseconds(50), later.SetResult);
        await later.Task.Bounded();

        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, call.Id, FrameFlags.None, [3]));
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));

        Assert.That(() => call.Events.LastOrDefault(), Is.EqualTo("end None: 0, 0").After(20_000, 2));
        Assert.That(rig.Connection.CloseReason, Is.Null);
        Assert.That(budget.UsedBytes, Is.Zero);
    }

    [Test]
    public void Answer_WithAHeadBeyondTheBudget_EndsItsCallAndNoConnection()
    {
        var budget = new BufferBudget("Limit", limitBytes: 1);
        using var rig = new CallingRig(bounds: new IncomingBounds(budget, TimeSpan.FromMinutes(1)));
        RecordingCall call = rig.Start();

        rig.Peer.Send(new RawFrame(FrameKind.Headers, call.Id, FrameFlags.HeadContinues, [1, 2]));
        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, call.Id, FrameFlags.None, [3]));
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));

        string[] expected = ["head not kept: Limit", "end None: 0, 0"];
        Assert.That(() => call.Events, Is.EqualTo(expected).After(20_000, 2));
        Assert.That(rig.Connection.CloseReason, Is.Null);
        Assert.That(budget.UsedBytes, Is.Zero);
    }

    [Test]
    public void End_WithAHeadBeyondTheBudget_FreesTheSlotWhenItIsWhole()
    {
        var budget = new BufferBudget("Limit", limitBytes: 1);
        using var rig = new CallingRig(bounds: new IncomingBounds(budget, TimeSpan.FromMinutes(1)));
        RecordingCall call = rig.Start();

        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id, FrameFlags.HeadContinues, [1, 2]));
        string[] begun = ["head not kept: Limit"];
        Assert.That(() => call.Events, Is.EqualTo(begun).After(20_000, 2));
        Assert.That(rig.Connection.OutgoingTwoWayCount, Is.EqualTo(1));
        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, call.Id, FrameFlags.None, [3]));

        Assert.That(() => call.Events, Is.EqualTo((string[])[.. begun, "end dropped: Limit"]).After(20_000, 2));
        Assert.That(() => rig.Connection.OutgoingTwoWayCount, Is.Zero.After(20_000, 2));
        Assert.That(rig.Connection.CloseReason, Is.Null);
    }

    [Test]
    public void HalfAHead_WhenTheConnectionCloses_GivesItsBytesBack()
    {
        var budget = new BufferBudget("Limit", limitBytes: 1 << 20);
        using var rig = new CallingRig(bounds: new IncomingBounds(budget, TimeSpan.FromMinutes(1)));
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id, FrameFlags.HeadContinues, [1, 2]));
        Assert.That(() => budget.UsedBytes, Is.Positive.After(20_000, 2));

        rig.Connection.Close(new CloseReason(CloseKind.Local, "The test closes it."));

        Assert.That(rig.Connection.Closed.Wait(Timeouts.Wait));
        Assert.That(budget.UsedBytes, Is.Zero);
    }

    // Half a start would have the time limit of requests, which no outgoing call can end.
    [Test]
    public void CallStart_OfACallOfThisSide_IsAViolation([Values] bool isWhole)
    {
        FrameFlags flags = isWhole ? FrameFlags.None : FrameFlags.HeadContinues;
        var budget = new BufferBudget("Limit", limitBytes: 1 << 20);
        using var rig = new CallingRig(bounds: new IncomingBounds(budget, TimeSpan.FromMilliseconds(1)));
        CallId call = rig.Start().Id;

        rig.Peer.Send(new RawFrame(FrameKind.CallStart, call, flags, [1, 2]));

        Assert.That(() => rig.Connection.CloseReason?.Kind, Is.EqualTo(CloseKind.PeerViolation).After(20_000, 2));
        Assert.That(rig.Connection.CloseReason!.Text, Does.Contain("which only this side may send"));
    }

    [Test]
    public void CallStart_WithAHeadAtTheLimit_IsTaken()
    {
        using var rig = new ServingRig();
        SendHead(rig.Peer, FrameKind.CallStart, ServingRig.Id(0), HeadLimit);
        rig.Settle();

        Assert.That(rig.Take().Events, Is.EqualTo((string[])[$"start None: {HeadLimit}, 0"]));
    }

    [Test]
    public void Messages_OfACall_ComeInTheirOrder()
    {
        using var rig = new ServingRig();
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.Message, call.Id, FrameFlags.None, null, [1, 2], Argument: 4));
        rig.Peer.Send(new RawFrame(FrameKind.MessageChunk, call.Id, FrameFlags.None, null, [3]));
        rig.Peer.Send(new RawFrame(FrameKind.MessageChunk, call.Id, FrameFlags.HalfClose, null, [4]));
        rig.Settle();

        Assert.That(
            call.Events.Skip(1), Is.EqualTo((string[])["message None: 2 of 4", "chunk None: 1", "chunk HalfClose: 1"]));
        Assert.That(call.ReceivedMessage, Is.EqualTo((byte[])[1, 2, 3, 4]));
    }

    [Test]
    public void HalfCloseAndCancel_OfACall_AreToldToIt()
    {
        using var rig = new ServingRig();
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.HalfClose, call.Id));
        rig.Peer.Send(new RawFrame(FrameKind.Cancel, call.Id));
        rig.Settle();

        Assert.That(call.Events.Skip(1), Is.EqualTo((string[])["half-close", "cancel"]));
    }

    [Test]
    public void Credit_OfACall_GoesToTheSender()
    {
        using var rig = new ServingRig();
        RecordingCall call = rig.Start();
        long before = call.Sending.Credit;

        rig.Peer.Send(new RawFrame(FrameKind.Credit, call.Id, Argument: 123));
        rig.Settle();

        Assert.That(call.Sending.Credit, Is.EqualTo(before + 123));
    }

    [Test]
    public void End_OfAServedCall_FreesItsSlotBeforeThePeerSeesIt()
    {
        using var rig = new ServingRig();
        RecordingCall call = rig.Start();
        rig.OnEvent = null;

        rig.Connection.Sender.Send(call, FrameKind.End, FrameFlags.HasMessage, "head"u8, "body"u8);
        RawFrame end = rig.Peer.Receive();
        rig.Peer.Send(new RawFrame(FrameKind.CallStart, ServingRig.Id(0, 2), Head: [1]));

        Assert.That((end.Kind, end.Head.Length, end.Body.Length), Is.EqualTo((FrameKind.End, 4, 4)));
        Assert.That(rig.Take().Id, Is.EqualTo(ServingRig.Id(0, 2)));
    }

    [Test]
    public void LateFrames_OfACallThatWasEndedHere_AreDropped()
    {
        using var rig = new ServingRig();
        RecordingCall call = rig.Start();
        rig.Connection.Sender.Send(call, FrameKind.End, FrameFlags.None, "x"u8, default);

        rig.Peer.Send(new RawFrame(FrameKind.Message, call.Id, FrameFlags.None, null, [1], Argument: 1));
        rig.Peer.Send(new RawFrame(FrameKind.MessageChunk, call.Id, FrameFlags.None, null, [1]));
        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, call.Id, FrameFlags.None, [1]));
        rig.Peer.Send(new RawFrame(FrameKind.HalfClose, call.Id));
        rig.Peer.Send(new RawFrame(FrameKind.Credit, call.Id, Argument: 1));
        rig.Peer.Send(new RawFrame(FrameKind.Cancel, call.Id));
        rig.Settle();

        Assert.That(call.Events, Has.Length.EqualTo(1));
        Assert.That(rig.Connection.CloseReason, Is.Null);
    }

    [Test]
    public void GoAway_OfThePeer_ClosesTheConnectionForNewCalls()
    {
        using var rig = new ServingRig();
        Assert.That(rig.Connection.IsOpenForCalls);

        rig.Peer.Send(new RawFrame(FrameKind.GoAway));
        rig.Peer.Send(new RawFrame(FrameKind.GoAway));
        rig.Settle();

        Assert.That(rig.Connection.IsOpenForCalls, Is.False);
        Assert.That(rig.Connection.CloseReason, Is.Null);
    }

    [Test]
    public void HeadersMessagesAndEnd_OfAStartedCall_AreToldToIt()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.Headers, call.Id, Head: [1, 2]));
        rig.Peer.Send(new RawFrame(FrameKind.Message, call.Id, FrameFlags.None, null, [7], Argument: 1));
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id, FrameFlags.HasMessage, [3], [8, 9]));

        Assert.That(() => call.IsWaitOver, Is.True.After(20_000, 2));
        Assert.That(
            () => call.Events,
            Is.EqualTo((string[])["headers: 2", "message None: 1 of 1", "end HasMessage: 1, 2"]).After(20_000, 2));
        Assert.That(call.ReceivedMessage, Is.EqualTo((byte[])[7, 8, 9]));
        Assert.That(rig.Connection.OutgoingTwoWayCount, Is.Zero);
    }

    [Test]
    public void End_WithAHeadInParts_EndsTheCallOnceItIsWhole()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id, FrameFlags.HeadContinues, [1]));
        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, call.Id, FrameFlags.None, [2]));

        Assert.That(() => call.Events, Is.EqualTo((string[])["end None: 2, 0"]).After(20_000, 2));
        Assert.That(rig.Connection.OutgoingTwoWayCount, Is.Zero);
    }

    [Test]
    public void End_WithAHeadBeyondTheLimit_EndsTheCallAndFreesItsSlot()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();

        SendHead(rig.Peer, FrameKind.End, call.Id, HeadLimit + 1);

        Assert.That(() => call.Events, Is.EqualTo((string[])["head too large: End"]).After(20_000, 2));
        Assert.That(() => rig.Connection.OutgoingTwoWayCount, Is.Zero.After(20_000, 2));
        Assert.That(rig.Connection.CloseReason, Is.Null);
        Assert.That(rig.Start().Id, Is.EqualTo(new CallId(call.Id.Slot, 2, false)));
    }

    [Test]
    public void Headers_WithAHeadBeyondTheLimit_LeaveTheSlotToTheEnd()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();
        SendHead(rig.Peer, FrameKind.Headers, call.Id, HeadLimit + 1);
        Assert.That(() => call.Events, Is.EqualTo((string[])["head too large: Headers"]).After(20_000, 2));
        Assert.That(rig.Connection.OutgoingTwoWayCount, Is.EqualTo(1));

        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));

        Assert.That(() => rig.Connection.OutgoingTwoWayCount, Is.Zero.After(20_000, 2));
    }

    // Its slot is free then, so no table has the call.
    [Test]
    public async Task End_WithAHeadBeyondTheLimit_OnWhichTheCallThrows_TellsTheCallOfTheClose()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();
        call.OnEvent = (_, what) =>
        {
            if (what == "head too large: End")
            {
                throw new InvalidOperationException("Planned.");
            }
        };

        SendHead(rig.Peer, FrameKind.End, call.Id, HeadLimit + 1);
        await rig.Connection.Closed.Bounded();

        Assert.That(call.Events, Is.EqualTo((string[])["head too large: End", "closed: InternalError"]));
    }

    private static void SendHead(RawPeer peer, FrameKind kind, CallId id, int length, bool isWhole = true)
    {
        const int Part = 4000;
        while (length > 0)
        {
            int part = Math.Min(length, Part);
            length -= part;
            FrameFlags flags = length > 0 || !isWhole ? FrameFlags.HeadContinues : FrameFlags.None;
            var frame = new RawFrame(kind, id, flags, new byte[part]);
            while (!peer.Link.Writer.TryClaim(part, isControl: true, out _))
            {
                Thread.Yield();
            }

            peer.Send(frame);
            kind = FrameKind.HeadChunk;
        }
    }
}
