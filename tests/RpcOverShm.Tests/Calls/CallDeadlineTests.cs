using System.Diagnostics;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

public class CallDeadlineTests
{
    [TestCase(1)]
    [TestCase(10_000)]
    [TestCase(15_000)]
    [TestCase(10_001)]
    [TestCase(999_999)]
    public async Task Expiry_AfterTheTime_NeverComesEarly(long ticks)
    {
        var timeout = TimeSpan.FromTicks(ticks);
        for (int i = 0; i < 5; i++)
        {
            var expired = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);
            long start = Stopwatch.GetTimestamp();
            using var deadline = new CallDeadline(timeout, () => expired.TrySetResult(Stopwatch.GetTimestamp()));

            long end = await expired.Task.Bounded();

            Assert.That(Stopwatch.GetElapsedTime(start, end), Is.GreaterThanOrEqualTo(timeout));
            Assert.That(deadline.Remaining, Is.LessThanOrEqualTo(TimeSpan.Zero));
        }
    }

    [Test]
    public async Task Expiry_OfManyDeadlines_ComesOnceForEach()
    {
        const int Count = 200;
        int expired = 0;
        var all = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        CallDeadline[] deadlines = [.. Enumerable.Range(0, Count).Select(i => new CallDeadline(
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

    [TestCase(41 * TimeSpan.TicksPerDay)]
    [TestCase(498 * TimeSpan.TicksPerDay / 10)]
    [TestCase(3650 * TimeSpan.TicksPerDay)]
    [TestCase(long.MaxValue)]
    public void Deadline_BeyondWhatTimersTake_IsKept(long ticks)
    {
        bool hasExpired = false;
        var timeout = TimeSpan.FromTicks(ticks);
        using var deadline = new CallDeadline(timeout, () => hasExpired = true);

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
            var deadline = new CallDeadline(
                TimeSpan.FromMilliseconds(50), () => expired += Volatile.Read(ref isInTime) ? 1 : 0);
            deadline.Dispose();
            Volatile.Write(ref isInTime, deadline.Remaining > TimeSpan.Zero);
            inTime += isInTime ? 1 : 0;
        }

        var later = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var after = new CallDeadline(TimeSpan.FromMilliseconds(60), later.SetResult);
        await later.Task.Bounded();

        Assert.That(Volatile.Read(ref expired), Is.Zero);
        Assert.That(inTime, Is.GreaterThan(Deadlines / 2));
    }

    [Test]
    public void Dispose_WhileItExpires_ThrowsNowhere()
    {
        for (int i = 0; i < 2000; i++)
        {
            var deadline = new CallDeadline(TimeSpan.FromTicks(1 + (i % 20_000)), static () => { });
            Thread.SpinWait(i % 100);
            Assert.That(deadline.Dispose, Throws.Nothing);
        }
    }

    [Test]
    public async Task Expiry_OfACallWithAContext_DoesNotCarryIt()
    {
        var ambient = new AsyncLocal<string> { Value = "the caller's" };
        var seen = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);

        using var deadline = new CallDeadline(TimeSpan.FromMilliseconds(1), () => seen.SetResult(ambient.Value));

        Assert.That(await seen.Task.Bounded(), Is.Null);
        Assert.That(ambient.Value, Is.EqualTo("the caller's"));
    }

    [Test]
    public void Deadline_WhereTheFlowIsSuppressedAlready_IsMadeAllTheSame()
    {
        using (ExecutionContext.SuppressFlow())
        {
            using var deadline = new CallDeadline(TimeSpan.FromDays(1), static () => { });
            Assert.That(ExecutionContext.IsFlowSuppressed());
        }
    }
}
