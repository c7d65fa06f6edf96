using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Connections;

/// <summary>Abandoned calls, closed senders, and peers that corrupt their half of the ring.</summary>
public class FrameSenderEndTests
{
    private readonly SenderRig _rig = new();

    [TearDown]
    public void Close() => _rig.Dispose();

    [Test]
    public void Start_BeyondThePeersLimit_StartsNothing()
    {
        for (int i = 0; i < 4; i++)
        {
            _rig.Start();
        }

        Assert.That(_rig.TryStart(new RecordingCall()), Is.EqualTo(StartResult.TooManyCalls));
        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(4));
    }

    [Test]
    public void Start_OfACallThatWasGivenUp_StartsNothing()
    {
        var call = new RecordingCall();
        _rig.Sender.Abandon(call, isCancel: true);

        Assert.That(_rig.TryStart(call), Is.EqualTo(StartResult.Abandoned));
        Assert.That(_rig.Peer.ReceiveAll(), Is.Empty);
        Assert.That(_rig.Calls.TwoWayCounter.Count, Is.Zero);
    }

    [Test]
    public void Abandon_OfACallThatThePeerKnows_SendsOneCancelAndKeepsTheId()
    {
        RecordingCall call = _rig.Start();

        _rig.Sender.Abandon(call, isCancel: true);
        _rig.Sender.Abandon(call, isCancel: true);

        Assert.That(
            _rig.Peer.ReceiveAll().Select(frame => (frame.Kind, frame.Call)),
            Is.EqualTo(new[] { (FrameKind.CallStart, call.Id), (FrameKind.Cancel, call.Id) }));
        Assert.That(_rig.Calls.TwoWayCounter.Count, Is.EqualTo(1), "The peer still answers it.");
    }

    [Test]
    public void Abandon_OfACallThatThePeerHasEnded_TellsNobody()
    {
        RecordingCall call = _rig.Start();

        _rig.Sender.Abandon(call, isCancel: false);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    [Test]
    public void Abandon_WithAQueuedHalfClose_SendsItAheadOfTheCancel()
    {
        RecordingCall call = _rig.Start();
        _rig.FillWithData();
        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);

        _rig.Sender.Abandon(call, isCancel: true);

        Assert.That(
            KindsUntil(FrameKind.Cancel, call),
            Is.EqualTo(new[] { FrameKind.CallStart, FrameKind.HalfClose, FrameKind.Cancel }));
    }

    [Test]
    public void Abandon_WithAHalfCloseAndNoRoomForIt_SendsBothOnceThePeerHasRead()
    {
        // Credit frames take the reserve that data leaves free.
        const int MoreThanFits = 2000;
        RecordingCall call = _rig.Start();
        RecordingCall filling = _rig.FillWithData();
        for (int i = 0; i < MoreThanFits; i++)
        {
            _rig.Sender.SendCredit(filling, 1);
        }

        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);
        _rig.Sender.Abandon(call, isCancel: true);

        Assert.That(
            KindsUntil(FrameKind.Cancel, call),
            Is.EqualTo(new[] { FrameKind.CallStart, FrameKind.HalfClose, FrameKind.Cancel }));
    }

    [Test]
    public void Abandon_WithAMessageBeforeTheHalfClose_SendsTheCancelOnly()
    {
        RecordingCall call = _rig.Start();
        _rig.Send(call, BytePattern.Of(500_000));
        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);

        _rig.Sender.Abandon(call, isCancel: true);

        Assert.That(
            _rig.Peer.ReceiveUntil(FrameKind.Cancel).Select(frame => frame.Kind),
            Has.None.EqualTo(FrameKind.HalfClose), "The message is not complete.");
    }

    [Test]
    public void Abandon_WithAQueuedHalfClose_WhenThePeerHasEndedTheCall_SendsNeither()
    {
        RecordingCall call = _rig.Start();
        _rig.FillWithData();
        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);

        call.MarkEndedByPeer();
        _rig.Sender.Abandon(call, isCancel: true);
        _rig.Sender.SendGoAway();

        Assert.That(KindsUntil(FrameKind.GoAway, call), Is.EqualTo(new[] { FrameKind.CallStart }));
    }

    [Test]
    public async Task Abandon_WithAQueuedMessage_DropsTheRestAndCompletesTheWait()
    {
        RecordingCall call = _rig.Start();
        Task sent = _rig.Send(call, BytePattern.Of(500_000));

        _rig.Sender.Abandon(call, isCancel: true);
        await sent.Bounded();

        List<RawFrame> frames = _rig.Peer.ReceiveUntil(FrameKind.Cancel);
        Assert.That(frames.Sum(frame => frame.Body.Length), Is.LessThan(100_000));
        Assert.That(_rig.Peer.ReceiveAll(), Is.Empty);
    }

    [Test]
    public void Send_AfterTheCallWasGivenUp_IsDropped()
    {
        RecordingCall call = _rig.Start();
        _rig.Sender.Abandon(call, isCancel: false);
        _rig.Peer.ReceiveAll();

        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);
        _rig.Sender.SendCredit(call, 100);
        Task sent = _rig.Send(call, "late"u8);

        Assert.That(sent.IsCompletedSuccessfully);
        Assert.That(_rig.Peer.ReceiveAll(), Is.Empty);
    }

    [Test]
    public void Abandon_OfACallThatWasNeverSent_LeavesItsIdAsThePeerExpectsIt()
    {
        // The peer counts the generations of a slot, so it must see every one of them.
        RecordingCall large = _rig.FillWithData();
        RecordingCall queued = _rig.Start("queued"u8);
        CallId id = queued.Id;
        _rig.Sender.Abandon(queued, isCancel: true);

        RecordingCall next = _rig.Start("next"u8);
        _rig.Sender.Abandon(large, isCancel: true);
        RawFrame start = _rig.Peer.ReceiveUntil(FrameKind.Cancel)[0];
        RawFrame second = _rig.Peer.Receive();

        Assert.That(start.Call, Is.EqualTo(large.Id));
        Assert.That(next.Id, Is.EqualTo(id));
        Assert.That((second.Kind, second.Call), Is.EqualTo((FrameKind.CallStart, id)));
        Assert.That(second.Head, Is.EqualTo("next"u8.ToArray()));
    }

    [Test]
    public void Abandon_OfACallThatWasNeverSent_IsForgotten()
    {
        _rig.FillWithData();
        RecordingCall queued = _rig.Start();
        Assert.That(_rig.Calls.TwoWayCounter.Count, Is.EqualTo(2));

        _rig.Sender.Abandon(queued, isCancel: true);

        Assert.That(_rig.Calls.TwoWayCounter.Count, Is.EqualTo(1));
        Assert.That(_rig.Calls.Snapshot(), Does.Not.Contain(queued));
        Assert.That(queued.Sending.Phase, Is.EqualTo(CallSendPhase.Withdrawn), "The peer cannot end it.");
    }

    [Test]
    public async Task DropRefused_OfACallThatWaitsForSpace_TakesItOutAndLetsOthersGo()
    {
        RecordingCall refused = _rig.Start();
        Task<bool> sent = _rig.Send(refused, BytePattern.Of(500_000), FrameFlags.Single);
        RecordingCall other = _rig.Start("behind it"u8);

        refused.MarkEndedByPeer();
        _rig.Sender.DropRefused(refused);

        Assert.That(refused.Sending.Is(SendStateFlags.Ready), Is.False);
        Assert.That(await sent.Bounded(), Is.False);
        List<RawFrame> frames = _rig.Peer.ReceiveUntil(FrameKind.CallStart);
        while (frames[^1].Call != other.Id)
        {
            frames.Add(_rig.Peer.Receive());
        }

        Assert.That(frames[^1].Head, Is.EqualTo("behind it"u8.ToArray()));
        Assert.That(_rig.Peer.ReceiveAll(), Is.Empty);
    }

    [Test]
    public void DropRefused_AfterTheSenderWasClosed_TakesItOutToo()
    {
        RecordingCall call = _rig.Start();
        _rig.Send(call, BytePattern.Of(500_000), FrameFlags.Single);
        _rig.CloseSender();

        _rig.Sender.DropRefused(call);

        Assert.That(call.Sending.Is(SendStateFlags.Ready), Is.False);
    }

    [Test]
    public async Task Drop_WithAQueuedMessage_CompletesTheWait()
    {
        RecordingCall call = _rig.Start();
        Task sent = _rig.Send(call, BytePattern.Of(500_000));

        _rig.Sender.Drop(call);

        await sent.Bounded();
    }

    [Test]
    public void Close_Afterwards_NothingIsStartedOrSent()
    {
        RecordingCall call = _rig.Start();
        _rig.CloseSender();

        Assert.That(_rig.TryStart(new RecordingCall()), Is.EqualTo(StartResult.Closed));
        _rig.Sender.SendGoAway();
        _rig.Sender.SendCredit(call, 10);
        _rig.Sender.Abandon(call, isCancel: true);
        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);
        Assert.That(_rig.Peer.ReceiveAll().Select(frame => frame.Kind), Is.EqualTo(new[] { FrameKind.CallStart }));
    }

    [Test]
    public void Close_WhileFramesWaitForSpace_SendsNoMoreAndFreesTheMemory()
    {
        int before = ProcessResources.CountSegmentMappings();
        using (var rig = new SenderRig())
        {
            rig.FillWithData();
            Assert.That(() => rig.Links.ClientSegment.Own.ParkedForSpace, Is.EqualTo(2).After(20_000, 1));
            long tail = rig.Tail;
            rig.CloseSender();
            rig.Peer.ReceiveAll();
            rig.Sender.SendQueued();
            Assert.That(rig.Tail, Is.EqualTo(tail));
        }

        Assert.That(() => ProcessResources.CountSegmentMappings(), Is.LessThanOrEqualTo(before).After(20_000, 10));
    }

    [TestCase(-16L)]
    [TestCase(8L)]
    [TestCase(1L << 40)]
    public void Send_WithAHeadThatMakesNoSense_ClosesTheLink(long head)
    {
        RecordingCall call = _rig.FillWithData();
        SharedMemoryOrder.WriteFenced(ref _rig.Links.ServerSegment.Own.Head, head);

        _rig.Send(call, "more"u8);
        _rig.Sender.SendCredit(call, 1);
        for (int i = 0; i < 1000 && !_rig.Links.Client.IsClosed; i++)
        {
            _rig.Start();
        }

        Assert.That(_rig.Links.Client.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
    }

    [Test]
    public void SendWaiting_WhileThePeersHeadFlickers_ClosesTheLinkAndNothingElse()
    {
        // The sender reads the head twice, once for space and once to park. Each read may meet the wrong value, and an
        // unhandled exception on the loop's thread would end the process.
        for (int i = 0; i < 20; i++)
        {
            using var rig = new SenderRig();
            rig.FillWithData();
            rig.Links.FlickerHead().Join();
            Assert.That(rig.Links.Client.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));

            // On a slow machine the flickering peer has rung too often before its head is read at a wrong moment.
            Assert.That(
                rig.Links.Client.CloseReason.Exception,
                Is.TypeOf<RingCorruptedException>().Or.TypeOf<ProtocolException>());
        }
    }

    private IEnumerable<FrameKind> KindsUntil(FrameKind last, RecordingCall call) =>
        _rig.Peer.ReceiveUntil(last).Where(frame => frame.Call == call.Id).Select(frame => frame.Kind);
}
