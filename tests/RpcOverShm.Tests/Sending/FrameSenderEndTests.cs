using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Sending;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Sending;

/// <summary>Calls that are given up, senders that are closed, and peers that spoil their half of the ring.</summary>
public class FrameSenderEndTests
{
    private const string SpaceThread = "RpcOverShm space";

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

        Assert.That(_rig.TryStart(call), Is.EqualTo(StartResult.GivenUp));
        Assert.That(_rig.Peer.ReceiveAll(), Is.Empty);
        Assert.That(_rig.Calls.Living.Count, Is.Zero);
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
        Assert.That(_rig.Calls.Living.Count, Is.EqualTo(1), "The peer still answers it.");
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
            _rig.Peer.ReceiveUntil(FrameKind.Cancel).Where(frame => frame.Call == call.Id).Select(frame => frame.Kind),
            Is.EqualTo(new[] { FrameKind.CallStart, FrameKind.HalfClose, FrameKind.Cancel }));
    }

    [Test]
    public void Abandon_WithAHalfCloseAndNoRoomForIt_SendsBothOnceThePeerHasRead()
    {
        // Credit has taken what data leaves free.
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
            _rig.Peer.ReceiveUntil(FrameKind.Cancel).Where(frame => frame.Call == call.Id).Select(frame => frame.Kind),
            Is.EqualTo(new[] { FrameKind.CallStart, FrameKind.HalfClose, FrameKind.Cancel }));
    }

    [Test]
    public void Abandon_WithAMessageBeforeTheHalfClose_SendsTheCancelOnly()
    {
        RecordingCall call = _rig.Start();
        _rig.Send(call, SenderRig.Pattern(500_000));
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

        Assert.That(
            _rig.Peer.ReceiveUntil(FrameKind.GoAway).Where(frame => frame.Call == call.Id).Select(frame => frame.Kind),
            Is.EqualTo(new[] { FrameKind.CallStart }));
    }

    [Test]
    public async Task Abandon_WithAQueuedMessage_DropsTheRestAndCompletesTheWait()
    {
        RecordingCall call = _rig.Start();
        Task sent = _rig.Send(call, SenderRig.Pattern(500_000));

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
        // The peer counts the generations of a slot: one that it never saw must not be missing.
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
        Assert.That(_rig.Calls.Living.Count, Is.EqualTo(2));

        _rig.Sender.Abandon(queued, isCancel: true);

        Assert.That(_rig.Calls.Living.Count, Is.EqualTo(1));
        Assert.That(_rig.Calls.Snapshot(), Does.Not.Contain(queued));
    }

    [Test]
    public async Task TryLetGo_OfACallThatWaitsForSpace_TakesItOutAndLetsOthersGo()
    {
        RecordingCall refused = _rig.Start();
        Task<bool> sent = _rig.Send(refused, SenderRig.Pattern(500_000), FrameFlags.Single);
        RecordingCall other = _rig.Start("behind it"u8);

        refused.MarkEndedByPeer();
        bool isFree = _rig.Sender.TryLetGo(refused);

        Assert.That(isFree);
        Assert.That(refused.Sending.IsReady, Is.False);
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
    public void TryLetGo_AfterTheSenderWasClosed_IsFreeToo()
    {
        using var closed = new ClosedRig(withQueued: true);

        Assert.That(closed.Sender.TryLetGo(closed.Call));
        Assert.That(closed.Call.Sending.IsReady, Is.False);
    }

    [Test]
    public async Task Drop_WithAQueuedMessage_CompletesTheWait()
    {
        RecordingCall call = _rig.Start();
        Task sent = _rig.Send(call, SenderRig.Pattern(500_000));

        _rig.Sender.Drop(call);

        await sent.Bounded();
    }

    [Test]
    public void Close_Afterwards_NothingIsStartedOrSent()
    {
        using var rig = new ClosedRig();

        Assert.That(
            rig.Sender.Start(new RecordingCall(), 0, default, default), Is.EqualTo(StartResult.Closed));
        rig.Sender.SendGoAway();
        rig.Sender.SendCredit(rig.Call, 10);
        rig.Sender.Abandon(rig.Call, isCancel: true);
        rig.Sender.Send(rig.Call, FrameKind.HalfClose, FrameFlags.None, default, default);
        Assert.That(rig.Peer.ReceiveAll().Select(frame => frame.Kind), Is.EqualTo((FrameKind[])[FrameKind.CallStart]));
    }

    [Test]
    public void Close_WhileTheSpaceWaiterSleeps_SendsItHome()
    {
        int before = ProcessResources.CountThreads(SpaceThread);
        using (var rig = new SenderRig())
        {
            rig.FillWithData();
        }

        Assert.That(() => ProcessResources.CountThreads(SpaceThread), Is.LessThanOrEqualTo(before).After(20_000, 10));
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
    public void SpaceWaiter_WhileThePeersHeadFlickers_ClosesTheLinkAndNothingElse()
    {
        // The head is looked at twice, once for space and once before sleeping: each look can meet the wrong value, and
        // an exception that leaves the waiter's thread would end the process.
        for (int i = 0; i < 20; i++)
        {
            using var rig = new SenderRig();
            rig.FillWithData();
            TestThread flicker = TestThread.Start("flicker", () =>
            {
                while (!rig.Links.Client.IsClosed)
                {
                    SharedMemoryOrder.WriteFenced(ref rig.Links.ServerSegment.Own.Head, 8);
                    Thread.SpinWait(20);
                    SharedMemoryOrder.WriteFenced(ref rig.Links.ServerSegment.Own.Head, 0);
                    rig.Links.Server.WakePeerForSpace();
                }
            });

            flicker.Join();
            Assert.That(rig.Links.Client.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
        }
    }

    /// <summary>A sender that is closed, with one call that was started before.</summary>
    private sealed class ClosedRig : IDisposable
    {
        private readonly LinkPair _links = new();

        public ClosedRig(bool withQueued = false)
        {
            Peer = new RawPeer(_links.Server);
            Sender = new FrameSender(_links.Client, new ReaderRole());
            Sender.Start(Call, FrameFlags.None, default, default);
            if (withQueued)
            {
                var bytes = new PooledBufferWriter();
                bytes.Write(SenderRig.Pattern(500_000));
                Sender.Messages.SendAsync(Call, FrameFlags.Single, bytes);
            }

            Sender.Close();
        }

        public RawPeer Peer { get; }

        public FrameSender Sender { get; }

        public RecordingCall Call { get; } = new();

        public void Dispose()
        {
            _links.Client.Leave();
            Peer.Dispose();
            _links.Dispose();
        }
    }
}
