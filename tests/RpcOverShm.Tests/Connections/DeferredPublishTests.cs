using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// The time that frames of inline user code may stay unpublished while more records wait to be read. The test's thread
/// is the one that runs the user code.
/// </summary>
public class DeferredPublishTests
{
    private const int MostFrames = 16;
    private const int MostRecords = 16;
    private const long MostNanoseconds = 20_000;

    private readonly SenderRig _rig = new();
    private readonly EventLoop _loop = new();
    private RecordingCall _call = null!;

    [SetUp]
    public void EnterUserCode()
    {
        _call = _rig.Start("head"u8);
        _rig.Peer.ReceiveAll();
        _rig.Peer.Send(new RawFrame(FrameKind.GoAway));
        var me = new LoopThread(_loop) { Role = _rig.Role, MayDefer = true };
        _loop.BeginUserCode(me);
        LoopThread.Current = me;
    }

    [TearDown]
    public void Close()
    {
        LoopThread.Current = null;
        _rig.Dispose();
    }

    [Test]
    public void Frames_OfQuickCode_WaitUntilThereAreSixteen()
    {
        long before = _rig.Tail;
        for (int sent = 1; sent < MostFrames; sent++)
        {
            Send([1]);
            Assert.That(_rig.Tail, Is.EqualTo(before), $"after {sent}");
        }

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(MostFrames));
        Assert.That(_rig.Sender.HasDeferred, Is.False);
    }

    [Test]
    public void Frame_OfCodeThatIsNotQuick_IsPublishedAtOnce()
    {
        LoopThread.Current!.MayDefer = false;

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    // Such a thread publishes nothing afterwards, because another one runs the loop.
    [Test]
    public void Frame_OfCodeThatHasLostTheLoop_IsPublishedAtOnce()
    {
        LoopThread me = LoopThread.Current!;
        Assert.That(me.TryWant(me.Run));

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    [Test]
    public void Frame_ForAnotherConnectionThanThatOfTheCode_IsPublishedAtOnce()
    {
        LoopThread.Current!.Role = new ReaderRole();

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    [Test]
    public void Frame_WithNoRecordWaiting_IsPublishedAtOnce()
    {
        _rig.Links.Client.Reader.TryRead(out _, out _);
        _rig.Links.Client.Reader.Release();

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    // Many bytes are published early. They must not become visible without the wake-up of a peer that sleeps.
    [Test]
    public void Frames_ThatArePublishedEarly_WakeThePeer()
    {
        uint localEvents = _rig.Peer.Link.LocalEvents;
        _rig.Peer.PublishHead();
        long position = _rig.Peer.Link.Reader.Position;
        Assert.That(_rig.Peer.Link.Reader.Arm(WakeMethods.Futex));
        using var isAsleep = new ManualResetEventSlim();
        bool isWoken = false;
        var peer = TestThread.Start("peer", () =>
        {
            isAsleep.Set();
            isWoken = _rig.Peer.Link.SleepForData(position, localEvents, Timeouts.Wait);
        });
        isAsleep.Wait();

        Send(BytePattern.Of(5_000));

        peer.Join();
        Assert.That(isWoken, "The peer was woken, or saw the bytes before it slept.");
        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    [Test]
    public void Frame_OfQuickCode_WaitsForSixteenRecordsWithoutCodeAtMost()
    {
        ConnectionReader reader = StartReader();
        Run(reader, Answering());
        for (int records = 1; records <= MostRecords; records++)
        {
            reader.FlushDeferredIfOld();
            Assert.That(_rig.Sender.HasDeferred, $"after {records}");
        }

        reader.FlushDeferredIfOld();

        Assert.That(_rig.Sender.HasDeferred, Is.False);
        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    // The times of the records before a frame do not count against it.
    [Test]
    public void Frame_AfterManyRecordsWithoutCode_StillWaitsForSixteen()
    {
        ConnectionReader reader = StartReader();
        Run(reader, Answering());
        for (int records = 0; records < MostRecords; records++)
        {
            reader.FlushDeferredIfOld();
        }

        _rig.Sender.FlushDeferred();
        Run(reader, Answering());
        for (int records = 0; records < MostRecords; records++)
        {
            reader.FlushDeferredIfOld();
        }

        Assert.That(_rig.Sender.HasDeferred);
    }

    // The typical times of the user code that runs after a frame was deferred add up to 20 us at most, by the clock of
    // the inline budget. The frame is published before the run that would exceed that.
    [TestCase(2_000)]
    [TestCase(3_000)]
    [TestCase(7_000)]
    [TestCase(15_000)]
    public void Frames_OfCodeWithATypicalTime_WaitForTwentyMicrosecondsAtMost(int nanoseconds)
    {
        ConnectionReader reader = StartReader();
        RecordingCall call = Answering();
        MakeTypical(call, nanoseconds);
        long owed = 0;
        int published = 0;
        int slow = 0; // runs from which the host took the processor, so that their frame did not wait
        for (int runs = 0; runs < 100; runs++)
        {
            bool wasOwed = _rig.Sender.HasDeferred;
            bool isOwed = false;
            long typical = call.InlineBudget.TypicalNanoseconds;
            call.OnWork = _ =>
            {
                isOwed = _rig.Sender.HasDeferred;
                Send([1]);
            };
            Run(reader, call);

            bool isDue = wasOwed && owed + typical > MostNanoseconds;
            Assert.That(isOwed, Is.EqualTo(wasOwed && !isDue), $"run {runs}: {owed} and {typical} ns");
            slow += _rig.Sender.HasDeferred ? 0 : 1;
            owed = wasOwed && !isDue ? owed + typical : typical;
            published += isDue ? 1 : 0;
            _rig.Peer.ReceiveAll();
        }

        Assert.That(published, Is.GreaterThan(2));
        Assert.That(slow, Is.LessThan(10), "The runs are quick.");
    }

    [Test]
    public void Frame_BeforeCodeOfAKindThatIsNotQuick_IsPublishedBeforeItRuns()
    {
        ConnectionReader reader = StartReader();
        RecordingCall slow = Answering();
        MakeTypical(slow, (int)MostNanoseconds * 2);
        bool isOwed = true;
        slow.OnWork = _ =>
        {
            isOwed = _rig.Sender.HasDeferred;
            Send([2]);
        };

        Run(reader, Answering());
        Run(reader, slow);

        Assert.That(isOwed, Is.False);
        Assert.That(_rig.Sender.HasDeferred, Is.False, "Its own frame is published at once.");
    }

    // The test's thread is then between two runs of user code.
    private ConnectionReader StartReader()
    {
        LoopThread me = LoopThread.Current!;
        Assert.That(_loop.EndUserCode(me));
        var receiver = new FrameReceiver(_rig.Links.Client, _rig.Sender, accept: null, onGoAway: () => { });
        return new ConnectionReader(
            _rig.Links.Client, _rig.Role, receiver, _rig.Sender, SchedulingMode.Inline, onClosed: () => { })
        {
            Loop = _loop,
        };
    }

    private static void Run(ConnectionReader reader, RecordingCall call)
    {
        call.AddUserCode(PendingUserCode.Start);
        Assert.That(reader.RunOrQueue(LoopThread.Current!, call, messages: 1), "The loop was kept.");
    }

    // Its user code sends a frame, and took no time so far.
    private RecordingCall Answering() => new() { OnWork = _ => Send([1]) };

    // As a run does that was timed. The clock goes on meanwhile, so the typical time is a little longer.
    private static void MakeTypical(RecordingCall call, int nanoseconds)
    {
        call.InlineBudget.Begin(run: 0);
        call.InlineBudget.End(ThreadClock.Now - nanoseconds, messages: 1, isAnyWaiting: false);
        Assert.That(call.InlineBudget.TypicalNanoseconds, Is.AtLeast(nanoseconds));
    }

    private void Send(byte[] body) => _rig.SendUnawaited(_call, body);
}
