using System.Runtime.CompilerServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>An event loop to which things happen in an unlucky order.</summary>
[NonParallelizable]
public class EventLoopRaceTests
{
    private const int WaitMilliseconds = 20_000;

    private readonly EventLoop _loop = new();
    private readonly List<FakeSource> _sources = [];

    [TearDown]
    public void RemoveAll()
    {
        BackgroundThread.Refuses = null;
        _sources.ForEach(source => source.RemoveFrom(_loop));
        Eventually(() => _sources.TrueForAll(source => source.Entered == source.Left), "The loop keeps no source.");
        Assert.That(_sources.Select(source => source.WasRunTwiceAtOnce), Has.None.True);
        _sources.ForEach(source => source.Dispose());
        _sources.Clear();
    }

    // The loop's thread would run a source whose owner was told that no loop serves it.
    [Test]
    public void Request_OfASourceThatCannotBeAdded_DoesNotReachTheLoop()
    {
        const int Rounds = 100;
        FakeSource known = Add();
        using var wires = new WirePair();
        Wire closed = wires.ServerWire;
        closed.Dispose();
        var refused = new List<FakeSource>();
        for (int i = 0; i < Rounds; i++)
        {
            var source = new FakeSource();
            refused.Add(source);
            bool isRefused = false;
            TestThread requests = TestThread.Start("requests", () =>
            {
                while (source.Loop is null && !Volatile.Read(ref isRefused))
                {
                    Thread.SpinWait(1);
                }

                source.Request();
            });

            Assert.That(_loop.Add(source, closed), Is.Not.Null);
            Volatile.Write(ref isRefused, true);
            requests.Join();
            source.Dispose();
        }

        known.Request();
        Eventually(() => known.Runs == 1);
        Assert.That(refused.Select(source => source.Runs), Is.All.Zero);
        Assert.That(refused.Select(source => source.Loop), Is.All.Null);
    }

    // A thread that is interrupted does not wait for a lock, such as that of the loop, which the test holds.
    [Test]
    public void Request_OfAnInterruptedThread_IsNotLost()
    {
        FakeSource source = Add();
        Eventually(() => !_loop.IsAwake && !source.IsActive);

        using (LockOf(_loop).Enter())
        {
            TestThread.Start("interrupted", () =>
            {
                Thread.CurrentThread.Interrupt();
                source.Request();
            }).Join();
        }

        Eventually(() => source.Runs == 1);
    }

    // A loop that nobody runs would take the next source, and never serve it.
    [Test]
    public void Add_WithoutMemoryForTheThread_LeavesALoopThatStartsLater()
    {
        BackgroundThread.Refuses = static _ => throw new InsufficientMemoryException("A test took the memory.");
        using (var first = new FakeSource())
        {
            Assert.That(() => first.AddTo(_loop), Throws.TypeOf<InsufficientMemoryException>());
        }

        BackgroundThread.Refuses = null;
        FakeSource source = Add();
        source.Request();
        Eventually(() => source.Runs == 1);
    }

    // The thread that has lost the loop returns before its spare starts, goes on, and ends with the last source.
    [Test]
    public void Spare_ThatStartsAfterItsLoopHasEnded_EndsToo()
    {
        // Not disposed: the watchdog waits for the one and sets the other.
        var isTakenOver = new ManualResetEventSlim();
        var mayStart = new ManualResetEventSlim();
        Thread? thread = null;
        FakeSource slow = Add();
        slow.UserCode = () =>
        {
            thread = Thread.CurrentThread;
            isTakenOver.Wait(WaitMilliseconds);
        };
        BackgroundThread.Refuses = name =>
        {
            if (name == ReadingRig.LoopThreadName)
            {
                isTakenOver.Set();
                mayStart.Wait(WaitMilliseconds);
            }

            return false;
        };
        slow.Request();
        Eventually(() => slow.HasKeptLoop == false && _loop.StuckThreads == 0);
        slow.RemoveFrom(_loop);
        Eventually(() => !thread!.IsAlive, "The loop ends some seconds after its last source.");

        mayStart.Set();
        Thread.Sleep(100);

        using var isOver = new ManualResetEventSlim();
        FakeSource next = Add();
        next.UserCode = isOver.Wait;
        next.Request();
        Eventually(() => _loop.StuckThreads == 1, "The watchdog and the next loop go on as usual.");
        isOver.Set();
        Eventually(() => _loop.StuckThreads == 0);
        Eventually(() => ProcessResources.CountThreads("RpcOverShm spare") <= 1);
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lock")]
    private static extern ref UninterruptibleLock LockOf(EventLoop loop);

    private static void Eventually(Func<bool> condition, string? message = null) =>
        Assert.That(condition, Is.True.After(WaitMilliseconds, 1), message ?? "");

    private FakeSource Add()
    {
        var source = new FakeSource();
        _sources.Add(source);
        source.AddTo(_loop);
        return source;
    }
}
