using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

public class DueTimeTests
{
    [TestCase(1)]
    [TestCase(10_000)]
    [TestCase(15_000)]
    [TestCase(10_001)]
    [TestCase(999_999)]
    public async Task Action_AfterTheTime_NeverRunsEarly(long ticks)
    {
        var timeout = TimeSpan.FromTicks(ticks);
        for (int i = 0; i < 5; i++)
        {
            var expired = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);
            long start = Stopwatch.GetTimestamp();
            using var deadline = new DueTime(timeout, () => expired.TrySetResult(Stopwatch.GetTimestamp()));

            long end = await expired.Task.Bounded();

            Assert.That(Stopwatch.GetElapsedTime(start, end), Is.GreaterThanOrEqualTo(timeout));
            Assert.That(deadline.Remaining, Is.LessThanOrEqualTo(TimeSpan.Zero));
        }
    }

    [Test]
    public async Task Action_OfManyTimes_RunsOnceForEach()
    {
        const int Count = 200;
        int expired = 0;
        var all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        DueTime[] deadlines = [.. Enumerable.Range(0, Count).Select(i => new DueTime(
            TimeSpan.FromMilliseconds(1 + (i % 7)),
            () =>
            {
                if (Interlocked.Increment(ref expired) == Count)
                {
                    all.SetResult();
                }
            }))];

        await all.Task.Bounded();
        await Task.Delay(20);

        Assert.That(Volatile.Read(ref expired), Is.EqualTo(Count));
        Array.ForEach(deadlines, deadline => deadline.Dispose());
    }

    [Test]
    public async Task ActionThatIsAlwaysDueAgain_KeepsNeitherOthersNorChecksFromRunning()
    {
        bool mayEnd = false;
        var others = new CountdownEvent(2 * Environment.ProcessorCount);
        var isChecked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Again();
        try
        {
            // Of several threads: each has its part of the due times.
            TestThread.RunAll("other", others.InitialCount, number =>
            {
                _ = new DueTime(TimeSpan.FromMilliseconds(5 + number), () => others.Signal());
            });
            Assert.That(Watchdog.Watch(() =>
            {
                isChecked.TrySetResult();
                return WatchdogCheck.Done;
            }));

            Assert.That(others.Wait(Timeouts.Wait));
            await isChecked.Task.Bounded();
        }
        finally
        {
            Volatile.Write(ref mayEnd, true);
        }

        void Again()
        {
            if (!Volatile.Read(ref mayEnd))
            {
                _ = new DueTime(TimeSpan.Zero, Again);
            }
        }
    }

    [TestCase(41 * TimeSpan.TicksPerDay)]
    [TestCase(498 * TimeSpan.TicksPerDay / 10)]
    [TestCase(3650 * TimeSpan.TicksPerDay)]
    [TestCase(long.MaxValue)]
    public void Time_BeyondWhatTimersTake_IsKept(long ticks)
    {
        bool hasExpired = false;
        var timeout = TimeSpan.FromTicks(ticks);
        using var deadline = new DueTime(timeout, () => hasExpired = true);

        Assert.That(deadline.Remaining, Is.InRange(TimeSpan.FromDays(40), timeout));
        Assert.That(hasExpired, Is.False);
    }

    [Test]
    public async Task Dispose_BeforeTheTime_KeepsItFromExpiring()
    {
        const int Deadlines = 100;
        int expired = 0;
        int inTime = 0;
        for (int i = 0; i < Deadlines; i++)
        {
            // A deadline that expires before its Dispose, because this thread was preempted, does not count.
            bool isInTime = false;
            var deadline = new DueTime(
                TimeSpan.FromMilliseconds(50), () => expired += Volatile.Read(ref isInTime) ? 1 : 0);
            deadline.Dispose();
            Volatile.Write(ref isInTime, deadline.Remaining > TimeSpan.Zero);
            inTime += isInTime ? 1 : 0;
        }

        var later = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var after = new DueTime(TimeSpan.FromMilliseconds(60), later.SetResult);
        await later.Task.Bounded();

        Assert.That(Volatile.Read(ref expired), Is.Zero);
        Assert.That(inTime, Is.GreaterThan(Deadlines / 2));
    }

    [Test]
    public void Dispose_WhileItExpires_ThrowsNowhere()
    {
        for (int i = 0; i < 2000; i++)
        {
            var deadline = new DueTime(TimeSpan.FromTicks(1 + (i % 20_000)), static () => { });
            Thread.SpinWait(i % 100);
            Assert.That(deadline.Dispose, Throws.Nothing);
        }
    }

    [Test]
    public async Task Action_RunsOnTheWatchdog_WithoutTheContextOfItsCreator()
    {
        var ambient = new AsyncLocal<string> { Value = "the creator's" };
        var seen = new TaskCompletionSource<(string? Thread, string? Ambient)>(
            TaskCreationOptions.RunContinuationsAsynchronously);

        using var due = new DueTime(
            TimeSpan.FromMilliseconds(1), () => seen.SetResult((Thread.CurrentThread.Name, ambient.Value)));

        // Not on a thread of the pool: user code may have taken all of them.
        Assert.That(await seen.Task.Bounded(), Is.EqualTo(("RpcOverShm watchdog", (string?)null)));
    }

    [Test]
    public async Task EarlierTime_AddedWhileTheWatchdogWaitsForALaterOne_IsKept()
    {
        for (int i = 0; i < 200; i++)
        {
            var run = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            using var later = new DueTime(TimeSpan.FromHours(1), static () => { });
            Thread.SpinWait(i * 200);

            using var earlier = new DueTime(TimeSpan.FromMilliseconds(1), run.SetResult);

            await run.Task.Bounded();
        }
    }

    [Test]
    public async Task Action_WithoutMemory_RunsAgain()
    {
        int runs = 0;
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

        using var due = new DueTime(TimeSpan.Zero, () =>
        {
            if (++runs < 3)
            {
                throw new InsufficientMemoryException();
            }

            done.SetResult();
        });

        await done.Task.Bounded();
        Assert.That(runs, Is.EqualTo(3));
    }

    [Test]
    public void Dispose_OfManyTimes_KeepsNeitherThemNorTheirActions()
    {
        const int Times = 100_000;
        long before = GC.GetTotalMemory(forceFullCollection: true);
        WeakReference owner = MakeAndDispose(Times);
        long after = GC.GetTotalMemory(forceFullCollection: true);

        Assert.That(owner.IsAlive, Is.False);
        Assert.That(after - before, Is.LessThan(Times * 8));

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference MakeAndDispose(int times)
        {
            object owner = new();
            for (int i = 0; i < times; i++)
            {
                new DueTime(TimeSpan.FromHours(1), () => owner.ToString()).Dispose();
            }

            return new WeakReference(owner);
        }
    }
}
