using System.Diagnostics;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Scheduling;

namespace RpcOverShm.Tests.Connections;

/// <summary>A connection as its event loop sees it: when it is parked, and when it must not be.</summary>
[NonParallelizable]
public class ConnectionReaderTests
{
    // A thread that arms for the loop holds the role for a moment. The doorbell may ring in that moment, and does not
    // ring again for the same word.
    [Test]
    public void Doorbell_ThatRingsWhileTheRoleIsHeld_IsNotLost()
    {
        using var rig = new ReadingRig();
        var call = new RecordingCall();
        rig.Start(call);
        rig.WaitUntilLoopSleeps();
        Assert.That(rig.Role.TryTake());

        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
        Assert.That(() => rig.Reader.IsActive, Is.True.After(20_000, 1), "The doorbell was heard.");

        LetTheLoopPark();
        bool isKept = rig.Reader.IsActive;
        rig.Role.Release();

        Assert.That(isKept, "The connection stays with its loop.");
        Assert.That(() => call.Events, Has.Some.Contains("end").After(20_000, 1), "The answer was read.");
    }

    // The end is announced once. The run that it causes cannot close the link if a caller reads or is about to.
    [Test]
    public void PeersEnd_ThatComesWhileTheLoopGivesWay_ClosesTheLink([Values] bool isRoleHeld)
    {
        using var rig = new ReadingRig();
        rig.Start(new RecordingCall());
        rig.WaitUntilLoopSleeps();
        if (isRoleHeld)
        {
            Assert.That(rig.Role.TryTake());
        }
        else
        {
            rig.Reader.AddBlocked();
        }

        rig.Links.Server.Close(new CloseReason(CloseKind.Local, "over"));
        Assert.That(() => rig.Links.Client.IsPeerGone, Is.True.After(20_000, 1));
        LetTheLoopPark();
        if (isRoleHeld)
        {
            rig.Role.Release();
        }
        else
        {
            rig.Reader.RemoveBlocked();
        }

        rig.Reader.EnsureReader();

        Assert.That(() => rig.Links.Client.IsClosed, Is.True.After(20_000, 1), "The loop has closed the link.");
    }

    // The loop reads the socket after it has run the connection, so it may take a doorbell that rang after the run.
    [Test]
    public void Doorbell_ForSpaceThatComesAfterTheRun_IsNotLost()
    {
        using var rig = new ReadingRig();
        var call = new RecordingCall();
        rig.Start(call);
        var message = new byte[4096];
        for (int sent = 0; sent < 2 * LinkPair.SmallRing; sent += message.Length)
        {
            rig.Sender.Send(call, FrameKind.Message, FrameFlags.None, default, message);
        }

        rig.WaitUntilLoopSleeps();
        Assert.That(rig.Sender.HasQueuedForLoop);
        long head = rig.Links.Client.Writer.HeadHint;
        Assert.That(rig.Peer.TryReceive(), Is.Not.Null, "Too little for a doorbell of this peer.");
        Assert.That(rig.Links.Client.Writer.HeadHint, Is.EqualTo(head));

        rig.Reader.DrainSocket(hasEnded: false);

        Assert.That(() => rig.Links.Client.Writer.HeadHint, Is.GreaterThan(head).After(20_000, 1));
    }

    // Ends of connections with many calls may take long, and a client can cause many of them at once.
    [Test]
    public void End_WhileTooManyThreadsHaveLostTheLoop_KeepsTheLoop()
    {
        using var isOver = new ManualResetEventSlim();
        using var rig = new ReadingRig();
        var call = new RecordingCall();
        rig.Start(call);
        EventLoop loop = rig.Reader.Loop!;
        var slow = new List<FakeSource>();
        try
        {
            while (!loop.IsFullOfStuck)
            {
                int stuck = loop.StuckThreads;
                slow.Add(new FakeSource { UserCode = isOver.Wait });
                slow[^1].AddTo(loop);
                slow[^1].Request();
                Assert.That(() => loop.StuckThreads, Is.EqualTo(stuck + 1).After(20_000, 1));
            }

            rig.Links.Client.Close(new CloseReason(CloseKind.Local, "over"));

            Assert.That(() => rig.IsEnded, Is.True.After(20_000, 1));
            Assert.That(rig.EndedBy, Is.EqualTo(ReadingRig.LoopThreadName));
        }
        finally
        {
            isOver.Set();
            slow.ForEach(source => source.RemoveFrom(loop));
            Assert.That(
                () => loop.StuckThreads == 0 && slow.TrueForAll(source => source.Entered == source.Left),
                Is.True.After(20_000, 1));
            slow.ForEach(source => source.Dispose());
        }
    }

    // With two processors there is none for the thread pool beside the loop and the peer.
    [TestCase(2, true, 40, true)]
    [TestCase(16, false, 40, true)]
    [TestCase(16, true, 1, true)]
    [TestCase(16, true, 40, false)]
    [LinuxOnly("The time of a thread in microseconds; other systems tell it in steps of 10 ms or more.")]
    public void UserCode_OfSomeMicroseconds_IsInlineUnlessOtherRecordsWait(
        int processors, bool isAnyWaiting, int microseconds, bool isInline)
    {
        using var rig = new ReadingRig(processors);
        var call = new RecordingCall();
        rig.Start(call);
        rig.WaitUntilLoopSleeps();
        Assert.That(rig.Role.TryTake());
        if (isAnyWaiting)
        {
            rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
        }

        var budget = new InlineBudget();
        long begun = budget.Begin(run: 0);
        while (ThreadClock.Now - begun < microseconds * ThreadClock.TicksPerMicrosecond)
        {
        }

        budget.End(begun, messages: 1, isAnyWaiting: false);
        Assert.That(rig.Reader.ShouldRunInline(budget), Is.EqualTo(isInline));
        rig.Role.Release();
        rig.Reader.EnsureReader();
    }

    // The ring is not armed meanwhile: traffic of other calls may go on for long.
    [Test]
    public void OneWayCall_ThatWaitsForRoom_IsWokenWhenAReaderFindsNoMore()
    {
        using var rig = new ReadingRig();
        Assert.That(() => rig.Role.TryTake(), Is.True.After(20_000, 1));
        RecordingCall[] running = [StartOneWay(rig, 40 << 10), StartOneWay(rig, 30 << 10)];
        var waiting = new RecordingCall { IsOneWay = true };
        StartResult result = rig.Sender.Start(waiting, FrameFlags.OneWay, default, default);
        Task room = rig.Sender.WhenCapacityMayBeFreeAsync(waiting);

        rig.Sender.OneWayCalls.Return(running[1]); // less than a half of the room
        bool wasDue = room.IsCompleted;
        bool hasRecord = rig.Reader.TryReceive(out _);

        Assert.That((result, wasDue, hasRecord), Is.EqualTo((StartResult.WindowFull, false, false)));
        Assert.That(room.IsCompleted, Is.True);
        rig.Role.Release();
    }

    private static RecordingCall StartOneWay(ReadingRig rig, long cost)
    {
        var call = new RecordingCall { IsOneWay = true };
        call.Sending.OneWayCost = cost;
        Assert.That(
            rig.Sender.Start(call, FrameFlags.OneWay, default, default), Is.EqualTo(StartResult.Started));
        return call;
    }

    // Longer than any loop spins before it parks what it looks at.
    private static void LetTheLoopPark()
    {
        long begun = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(begun) < SpinBudget.Longest * 100)
        {
            Thread.Yield();
        }
    }
}
