using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

public partial class ConnectionTests
{
    private const string LoopThread = "RpcOverShm loop";
    private const int DescriptorsOfLoop = 2;

    private static readonly int s_mostLoops = 2 * Math.Max(1, Environment.ProcessorCount / 2);

    [Test]
    public void RunCall_OfOneCall_ReturnsWithItsAnswer()
    {
        using var pair = new ConnectionPair();

        pair.Run(7);

        Assert.That(pair.Client.OutgoingTwoWayCount, Is.Zero);
        Assert.That(() => pair.Server.IncomingCount, Is.Zero.After(20_000, 2));
    }

    [Test]
    public async Task StartCall_OfOneCall_IsAnsweredByTheEventLoop()
    {
        using var pair = new ConnectionPair();

        string? thread = null;
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var call = new RecordingCall
        {
            OnEvent = (_, _) =>
            {
                thread = Thread.CurrentThread.Name;
                done.TrySetResult();
            },
        };
        pair.Client.StartCall(call, FrameFlags.HasMessage | FrameFlags.HalfClose, [9], [9]);
        await done.Task.Bounded();

        Assert.That(call.ReceivedMessage, Is.EqualTo((byte[])[9]));
        Assert.That(thread, Is.EqualTo(LoopThread));
    }

    [Test]
    public async Task Calls_OfBothKindsOneAfterTheOther_AllEnd()
    {
        // The reader role keeps changing between the caller and the event loop.
        using var pair = new ConnectionPair();
        for (int i = 0; i < 500; i++)
        {
            pair.Run((byte)i);
            await pair.RunAsync((byte)i).Bounded();
        }

        pair.AssertNoLostWakeup();
    }

    [Test]
    public async Task Calls_OfBothKindsByManyThreads_AllEnd()
    {
        using var pair = new ConnectionPair();
        TestThread[] blocking = [.. Enumerable.Range(0, 4).Select(i => TestThread.Start("caller", () =>
        {
            for (int n = 0; n < 3000; n++)
            {
                pair.Run((byte)(i + n));
            }
        }))];
        Task[] awaiting = [.. Enumerable.Range(0, 4).Select(i => Task.Run(async () =>
        {
            for (int n = 0; n < 1500; n++)
            {
                RecordingCall call = await pair.RunAsync((byte)(i + n)).Bounded();
                Assert.That(call.ReceivedMessage, Is.EqualTo((byte[])[(byte)(i + n)]));
            }
        }))];

        await Task.WhenAll(awaiting);
        Array.ForEach(blocking, thread => thread.Join());

        pair.AssertNoLostWakeup();
        Assert.That(pair.Client.OutgoingTwoWayCount, Is.Zero);
    }

    [Test]
    public async Task Calls_WithPausesOfEveryLength_AllEnd()
    {
        // Long enough for all readers to fall asleep, short enough to meet them on the way, and everything in between.
        using var pair = new ConnectionPair();
        Random random = TestSeed.NewRandom();
        for (int i = 0; i < 300; i++)
        {
            if (random.Next(2) == 0)
            {
                pair.Run((byte)i);
            }
            else
            {
                await pair.RunAsync((byte)i).Bounded();
            }

            int pause = random.Next(4);
            if (pause == 0)
            {
                await Task.Delay(random.Next(12));
            }
            else
            {
                Thread.SpinWait(random.Next(1 << (pause * 4)));
            }
        }

        pair.AssertNoLostWakeup();
    }

    [Test]
    public void RunCall_WithALargeMessage_SendsItInParts()
    {
        int received = 0;
        ConnectionPair? pair = null;
        pair = new ConnectionPair(onEvent: (call, what) =>
        {
            if (what.StartsWith("message", StringComparison.Ordinal)
                || what.StartsWith("chunk", StringComparison.Ordinal))
            {
                int now = call.ReceivedMessage.Count;
                pair!.Server.Sender.SendCredit(call, (uint)(now - received) + 16);
                received = now;
                if (what.Contains("HalfClose"))
                {
                    pair.Server.Sender.Send(call, FrameKind.End, FrameFlags.None, default, default);
                }
            }
        });
        using (pair)
        {
            var message = new PooledBufferWriter();
            message.Write(BytePattern.Of(1_000_000));
            var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);

            pair.Client.RunCall(call, FrameFlags.None, "h"u8, default, message);

            Assert.That(call.Events, Is.EqualTo((string[])["end None: 0, 0"]));
            Assert.That(received, Is.EqualTo(1_000_000));
            pair.AssertNoLostWakeup();
        }
    }

    [Test]
    public void RunCall_BeyondThePeersLimit_ReturnsAtOnce()
    {
        using var pair = new ConnectionPair(maxCalls: 0);
        var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);

        Assert.That(pair.Client.RunCall(call, 0, default, default, null), Is.EqualTo(StartResult.TooManyCalls));
        Assert.That(call.Events, Is.Empty);
    }

    [Test]
    public async Task RunCall_OfACallThatIsFinishedElsewhere_Returns()
    {
        using var rig = new CallingRig();
        var call = new RecordingCall(latch: new AutoResetLatch());
        StartResult? result = null;
        TestThread caller = TestThread.Start(
            "caller", () => result = rig.Connection.RunCall(call, 0, default, default, null));
        rig.Peer.Receive();

        // As a deadline does it: the call is done, its latch is signalled, and all readers that sleep on the ring
        // check again.
        await Task.Run(() =>
        {
            call.Complete();
            call.Latch!.Signal();
            rig.Connection.WakeSleepingReaders();
        });

        caller.Join();
        Assert.That(result, Is.EqualTo(StartResult.Started));
        Assert.That(call.Events, Is.Empty);
    }

    [Test]
    public void RunCall_OfSeveralThreadsWithOneAnswerForEach_HandsEachItsOwn()
    {
        using var rig = new CallingRig();
        const int Callers = 4;
        TestThread[] callers = [.. Enumerable.Range(0, Callers).Select(i => TestThread.Start("caller", () =>
        {
            var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);
            rig.Connection.RunCall(call, FrameFlags.None, [(byte)i], default, null);
            Assert.That(call.LastHead, Is.EqualTo((byte[])[(byte)i]));
        }))];

        // In reverse order: most threads get their answer from another thread that reads.
        List<RawFrame> frames = [.. Enumerable.Range(0, Callers).Select(_ => rig.Peer.Receive())];
        foreach (RawFrame frame in Enumerable.Reverse(frames))
        {
            rig.Peer.Send(new RawFrame(FrameKind.End, frame.Call, Head: frame.Head));
        }

        Array.ForEach(callers, caller => caller.Join());
        Assert.That(rig.Connection.LostWakeups, Is.Zero);
    }

    [Test]
    public async Task PeersEnd_BehindItsAnswers_ComesAfterThem()
    {
        // Frames written before the end count: if the end of the socket hid a response, an answered call would fail.
        for (int i = 0; i < 100; i++)
        {
            using var rig = new CallingRig();
            RecordingCall[] calls = [.. Enumerable.Range(0, 5).Select(_ => rig.Start())];
            foreach (RecordingCall call in calls)
            {
                rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
            }

            rig.Links.Wires.ServerWire.ShutDown();
            await rig.Connection.Closed.Bounded();

            Assert.That(calls.Select(call => string.Join(", ", call.Events)), Is.All.EqualTo("end None: 0, 0"));
            Assert.That(rig.Connection.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerLost));
        }
    }

    [Test]
    public void PeersEnd_WhileCallersBlock_EndsThemAll()
    {
        for (int i = 0; i < 50; i++)
        {
            using var rig = new CallingRig();
            TestThread[] callers = rig.Block(out RecordingCall[] calls, 3);
            for (int n = 0; n <= i % 4 && n < 3; n++)
            {
                rig.Peer.Receive();
            }

            rig.Links.Wires.ServerWire.ShutDown();

            Array.ForEach(callers, caller => caller.Join());
            Assert.That(calls.SelectMany(call => call.Events), Is.All.EqualTo("closed: PeerLost"));
        }
    }

    [Test]
    public async Task WhenOutgoingCallsEndAsync_WithCalls_CompletesWithTheLast()
    {
        using var rig = new CallingRig();
        RecordingCall call = rig.Start();
        Task ended = rig.Connection.WhenOutgoingCallsEndAsync();
        Assert.That(ended.IsCompleted, Is.False);

        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));

        await ended.Bounded();
    }

    [Test]
    public async Task WhenIncomingCallsEndAsync_OfAConnectionThatCloses_Completes()
    {
        using var rig = new ServingRig();
        rig.Start();
        Task ended = rig.Connection.WhenIncomingCallsEndAsync();
        Assert.That(ended.IsCompleted, Is.False);

        rig.Connection.Close(new CloseReason(CloseKind.Local, "enough"));

        await ended.Bounded();
    }

    [Test]
    public void OpenAndClose_ManyTimes_LeavesNoThreadMappingOrDescriptor()
    {
        int mappings = ProcessResources.CountSegmentMappings();

        // The event loops outlive their connections by some seconds, those of earlier tests, too.
        int mostLoops = ProcessResources.CountThreads(LoopThread) + s_mostLoops;
        int most = ProcessResources.CountDescriptors() + 2 + (s_mostLoops * DescriptorsOfLoop);
        for (int i = 0; i < 50; i++)
        {
            using var pair = new ConnectionPair();
            pair.Run((byte)i);
            Assert.That(ProcessResources.CountThreads(LoopThread), Is.LessThanOrEqualTo(mostLoops));
        }

        Assert.That(() => ProcessResources.CountSegmentMappings(), Is.LessThanOrEqualTo(mappings).After(20_000, 10));
        Assert.That(() => ProcessResources.CountDescriptors(), Is.LessThanOrEqualTo(most).After(20_000, 10));
    }
}
