using System.Runtime.CompilerServices;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>Blocking callers: how soon they get the reader role, and how much they do for other calls.</summary>
[NonParallelizable]
public class BlockingCallerTests
{
    [TearDown]
    public void LetThreadsStart() => BackgroundThread.Refuses = null;

    // A caller that holds the reader role, or for which the event loop has given way, keeps everybody from reading
    // while it sends. The budget counts each sent record of the upload under the sender's gate, on the thread that
    // sends it. The ring has room for many records without the event loop being woken.
    [Test]
    public void RunCall_BesideAnUploadOf64MiB_SendsAFewOfItsRecordsOnly()
    {
        const int Ring = 8 << 20;
        const int Record = 32 << 10;
        const int MostSent = 8; // two turns of four records
        int room = ((int)RingLimits.SpaceWakeBytes(Ring) / Record) - 4;
        int caller = Environment.CurrentManagedThreadId;
        int sentByCaller = 0;
        var budget = new BufferBudget("none", long.MaxValue)
        {
            OnResponsesDrained = () => sentByCaller += Environment.CurrentManagedThreadId == caller ? 1 : 0,
        };
        using var rig = new CallingRig(
            new LinkPair(clientRing: Ring, callWindow: 128 << 20), new IncomingBounds(budget, Timeouts.Wait));
        Upload(rig, (64 << 20) / Record, Record);

        for (int i = 0; i < 3; i++)
        {
            // A full ring, then some room that is too little for waking the event loop.
            Assert.That(
                () => rig.Links.ClientSegment.Own.ParkedForSpace, Is.Not.Zero.After(20_000, 1), "The ring is full.");
            for (int n = 0; n < room; n++)
            {
                Assert.That(rig.Peer.TryReceive()!.Kind, Is.EqualTo(FrameKind.Message));
            }

            var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);
            TestThread peer = TestThread.Start("peer", () => Answer(rig, call));
            sentByCaller = 0;
            rig.Connection.RunCall(call, FrameFlags.None, default, default, null);
            peer.Join();

            Assert.That(sentByCaller, Is.LessThanOrEqualTo(MostSent), $"in call {i}");
            Assert.That(budget.UnsentBytes, Is.GreaterThan(Ring), "The call has ended long before the upload.");
        }
    }

    // A doorbell that is late: the record is there, and the event loop's sleep has timed out. A round in which that
    // thread waited for a processor too long tells nothing, because it then does not wait for the doorbell.
    [Test]
    public void Enter_WhileTheEventLoopWaitsForALateDoorbell_TakesTheRole()
    {
        using var rig = new ReadingRig();
        bool isReadByCaller = false;
        for (int round = 0; round < 5 && !isReadByCaller; round++)
        {
            int reader = 0;
            var call = new RecordingCall(latch: AutoResetLatch.OfThisThread)
            {
                OnEvent = (_, _) => reader = Environment.CurrentManagedThreadId,
            };
            rig.Start(call);

            // A loop without events for long sleeps for long. This one has just had an event.
            rig.Reader.Request();
            rig.WaitUntilLoopSleeps();
            long before = rig.Role.Word;
            long lost = rig.Links.Client.LostWakeups;
            PublishEndWithoutRing(rig.Peer, call);
            Assert.That(
                SpinWait.SpinUntil(() => rig.Role.Word != before && rig.Role.IsFree, Timeouts.Wait),
                "The event loop has seen the record, and has given the role back.");

            CallerLease lease = default;
            rig.Reader.EnterCaller(ref lease);
            rig.Reader.WaitUntilDone(call, ref lease);
            rig.Reader.LeaveCaller(ref lease);

            isReadByCaller = reader == Environment.CurrentManagedThreadId && rig.Links.Client.LostWakeups == lost;
        }

        Assert.That(isReadByCaller, "The caller has read its answer while the event loop waited.");
    }

    // A caller that found the role taken sleeps. It reads for itself while the user code runs. The latch stands for
    // that caller: no thread takes the signal from it.
    [Test]
    public void UserCode_OfALoopThatKeptACallerFromReading_RunsAfterTheCallerWasWoken()
    {
        using var rig = new ReadingRig();
        using var hasRun = new ManualResetEventSlim();
        var caller = new AutoResetLatch();
        bool wasWoken = false;
        var call = new RecordingCall
        {
            // The loop holds the role here.
            OnEvent = (call, _) =>
            {
                rig.Reader.AddBlocked();
                rig.Reader.SleepingCallers.Add(caller);
                call.AddUserCode(PendingUserCode.Complete);
            },
            OnWork = _ =>
            {
                wasWoken = caller.IsSignalled;
                hasRun.Set();
            },
        };
        rig.Start(call);

        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
        Assert.That(hasRun.Wait(Timeouts.Wait));
        rig.Reader.SleepingCallers.Remove(caller);
        rig.Reader.RemoveBlocked();

        Assert.That(wasWoken, "The caller was signalled before.");
    }

    [Test]
    public void Caller_WhileUserCodeKeepsTheLoopAndNoThreadIsToBeHad_ReadsItsAnswer()
    {
        using var rig = new ReadingRig();
        using var isStuck = new ManualResetEventSlim();
        using var mayEnd = new ManualResetEventSlim();
        BackgroundThread.Refuses = name => name == ReadingRig.LoopThreadName;
        var stuck = new RecordingCall
        {
            OnEvent = (call, _) => call.AddUserCode(PendingUserCode.Complete),
            OnWork = _ =>
            {
                isStuck.Set();
                mayEnd.Wait(Timeouts.Wait);
            },
        };
        rig.Start(stuck);
        rig.Peer.Send(new RawFrame(FrameKind.End, stuck.Id));
        Assert.That(isStuck.Wait(Timeouts.Wait));

        var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);
        rig.Start(call);
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
        CallerLease lease = default;
        rig.Reader.EnterCaller(ref lease);
        rig.Reader.WaitUntilDone(call, ref lease);
        rig.Reader.LeaveCaller(ref lease);

        Assert.That(call.Events, Is.EqualTo((string[])["end None: 0, 0"]));
        Assert.That(() => rig.Reader.TakeOvers, Is.EqualTo(1).After(20_000, 1));
        Assert.That(mayEnd.IsSet, Is.False);
        mayEnd.Set();
        Assert.That(() => rig.Reader.Loop!.StuckThreads, Is.Zero.After(20_000, 1));
    }

    // The thread waits for the sender's gate with the role taken, to publish what was deferred.
    [Test]
    public void RunCall_OfAnInterruptedThread_LeavesTheRoleFree()
    {
        using var rig = new CallingRig();
        var deferred = new RecordingCall();
        Assert.That(
            rig.Connection.StartCall(deferred, FrameFlags.None, default, default, isDeferred: true),
            Is.EqualTo(StartResult.Started));

        TestThread interrupted;
        using (GateOf(rig.Connection.Sender).Enter())
        {
            interrupted = TestThread.Start("interrupted", () =>
            {
                var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);
                Assert.That(
                    () => rig.Connection.RunCall(call, FrameFlags.None, default, default, null),
                    Throws.TypeOf<ThreadInterruptedException>());
            });
            Assert.That(() => interrupted.IsWaiting, Is.True.After(20_000, 1));
            interrupted.Interrupt();
        }

        interrupted.Join();
        Assert.That(() => RoleOf(ReaderOf(rig.Connection)).IsFree, Is.True.After(20_000, 1));
    }

    // A peer that sends without a pause must not keep a caller from noticing a close.
    [Test]
    public void Caller_WhoseLinkIsClosedBetweenTwoRecords_ReadsNoFurtherOne()
    {
        using var rig = new ReadingRig();
        var call = new RecordingCall(latch: AutoResetLatch.OfThisThread)
        {
            OnEvent = (_, _) => rig.Links.Client.Close(new CloseReason(CloseKind.Local, "over")),
        };

        ReadAsCaller(rig, call, () =>
        {
            for (int i = 0; i < 10; i++)
            {
                SendByte(rig, call);
            }
        });

        Assert.That(call.Events, Is.EqualTo((string[])["message None: 1 of 1"]));
    }

    // What the peer had published by its end is read, and nothing after that: here one record while its end is noticed.
    [Test]
    public void Caller_OfAPeerThatGoesOnAfterItsEnd_ReadsOneRecordMore()
    {
        const int Most = 20; // without a check after each record
        using var rig = new ReadingRig();
        int sent = 1;
        var call = new RecordingCall(latch: AutoResetLatch.OfThisThread)
        {
            OnEvent = (call, _) =>
            {
                if (sent == 1)
                {
                    rig.Links.Wires.ServerWire.ShutDown();
                    Assert.That(SpinWait.SpinUntil(() => rig.Links.Client.IsPeerGone, Timeouts.Wait));
                }

                if (sent < Most)
                {
                    sent++;
                    SendByte(rig, call);
                }
            },
        };

        ReadAsCaller(rig, call, () => SendByte(rig, call));

        Assert.That(call.Events, Is.EqualTo((string[])["message None: 1 of 1", "message None: 1 of 1"]));
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_reader")]
    private static extern ref ConnectionReader ReaderOf(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_role")]
    private static extern ref ReaderRole RoleOf(ConnectionReader reader);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_gate")]
    private static extern ref SendGate GateOf(FrameSender sender);

    private static void Upload(CallingRig rig, int messages, int bytes)
    {
        RecordingCall upload = rig.Start();
        byte[] message = BytePattern.Of(bytes);
        for (int i = 0; i < messages; i++)
        {
            var copy = new PooledBufferWriter();
            copy.Write(message);
            rig.Connection.Sender.SendMessage(upload, FrameFlags.None, copy);
        }
    }

    private static void Answer(CallingRig rig, RecordingCall call)
    {
        Assert.That(SpinWait.SpinUntil(() => !call.Id.IsNone, Timeouts.Wait), "The call has begun.");
        rig.Peer.ReceiveUntil(FrameKind.CallStart);
        rig.Peer.Send(new RawFrame(FrameKind.End, call.Id));
    }

    // Reads on this thread, which has the role before the peer sends, until the link is closed. Then ends the call, as
    // a connection does.
    private static void ReadAsCaller(ReadingRig rig, RecordingCall call, Action send)
    {
        TestThread end = TestThread.Start("end", () =>
        {
            Assert.That(SpinWait.SpinUntil(() => rig.IsEnded, Timeouts.Wait), "The reading ends.");
            call.Complete();
            call.Latch!.Signal();
        });
        rig.Start(call);
        rig.WaitUntilLoopSleeps();
        CallerLease lease = default;
        rig.Reader.EnterCaller(ref lease);
        Assert.That(lease.HasRole);
        send();
        rig.Reader.WaitUntilDone(call, ref lease);
        rig.Reader.LeaveCaller(ref lease);
        end.Join();
    }

    private static void SendByte(ReadingRig rig, RecordingCall call) =>
        rig.Peer.Send(new RawFrame(FrameKind.Message, call.Id, Body: [1], Argument: 1));

    private static void PublishEndWithoutRing(RawPeer peer, RecordingCall call)
    {
        Assert.That(peer.Link.Writer.TryClaim(0, isControl: true, out RingClaim claim));
        peer.Link.Writer.Commit(claim, new RecordHeader(0, (byte)FrameKind.End, 0, 0, call.Id.Value, 0));
        Assert.That(peer.Link.Writer.Publish(), Is.EqualTo(WakeMethods.Doorbell), "The event loop is owed a ring.");
    }
}
