using System.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

public class AutoResetLatchTests
{
    private readonly AutoResetLatch _latch = new();

    [Test]
    public void Wait_AfterASignal_ReturnsAtOnceAndTakesIt()
    {
        _latch.Signal();
        Assert.That(_latch.IsSignalled);

        TestThread.Start("waiter", () => _latch.Wait(Timeouts.Wait)).Join();

        Assert.That(_latch.IsSignalled, Is.False);
    }

    [Test]
    public void Wait_AfterTwoSignals_TakesBoth()
    {
        _latch.Signal();
        _latch.Signal();
        _latch.Wait(TimeSpan.Zero);

        Assert.That(_latch.IsSignalled, Is.False);
    }

    [Test]
    public void Wait_WithoutASignal_ReturnsAfterTheTime()
    {
        long start = Stopwatch.GetTimestamp();

        _latch.Wait(TimeSpan.FromMilliseconds(20));

        Assert.That(Stopwatch.GetElapsedTime(start).TotalMilliseconds, Is.GreaterThan(15));
    }

    [Test]
    public void WaitLong_WithoutASignal_ReturnsAfterTheTime()
    {
        _latch.WaitLong(TimeSpan.FromMilliseconds(1));

        Assert.That(_latch.IsSignalled, Is.False);
    }

    [Test]
    public void Thread_ThatWaitsForLong_IsInterrupted_AndTheLatchGoesOn([Values] bool isLong)
    {
        bool isInterrupted = false;
        TestThread waiting = TestThread.Start("waiting", () =>
        {
            try
            {
                while (true)
                {
                    Wait(TimeSpan.FromSeconds(1));
                }
            }
            catch (ThreadInterruptedException)
            {
                Volatile.Write(ref isInterrupted, value: true);
            }

            Wait(Timeouts.Wait);
        });
        waiting.Interrupt();
        SpinWait.SpinUntil(() => Volatile.Read(ref isInterrupted), Timeouts.Wait);
        _latch.Signal();
        waiting.Join();

        Assert.That(isInterrupted);

        void Wait(TimeSpan longest)
        {
            if (isLong)
            {
                _latch.WaitLong(longest);
            }
            else
            {
                _latch.Wait(longest);
            }
        }
    }

    [Test]
    public void Clear_OfASignal_TakesIt()
    {
        _latch.Signal();

        _latch.Clear();

        Assert.That(_latch.IsSignalled, Is.False);
    }

    [Test]
    public void Signal_BackAndForth_IsNeverLost()
    {
        const int Rounds = 50_000;
        var other = new AutoResetLatch();
        TestThread answering = TestThread.Start("answering", () =>
        {
            for (int i = 0; i < Rounds; i++)
            {
                _latch.Wait(Timeouts.Wait);
                other.Signal();
            }
        });

        for (int i = 0; i < Rounds; i++)
        {
            _latch.Signal();
            other.Wait(Timeouts.Wait);
        }

        answering.Join();
    }

    // A long wait may end early, because of the end of an earlier signal, so its condition is checked.
    [Test]
    public void Signal_OfLongWaits_IsNeverLost()
    {
        const int Rounds = 10_000;
        var other = new AutoResetLatch();
        int asked = 0;
        int answered = 0;
        TestThread answering = TestThread.Start("answering", () =>
        {
            for (int i = 1; i <= Rounds; i++)
            {
                WaitUntil(_latch, i, ref asked);
                Volatile.Write(ref answered, i);
                other.Signal();
            }
        });

        for (int i = 1; i <= Rounds; i++)
        {
            Volatile.Write(ref asked, i);
            _latch.Signal();
            WaitUntil(other, i, ref answered);
        }

        answering.Join();

        static void WaitUntil(AutoResetLatch latch, int value, ref int actual)
        {
            while (Volatile.Read(ref actual) < value)
            {
                long begun = Stopwatch.GetTimestamp();
                latch.WaitLong(Timeouts.Wait);
                Assert.That(Stopwatch.GetElapsedTime(begun), Is.LessThan(Timeouts.Wait), "The signal was lost.");
            }
        }
    }

    [Test]
    public void OfThisThread_OnEachThread_IsItsOwn()
    {
        AutoResetLatch mine = AutoResetLatch.OfThisThread;
        AutoResetLatch? other = null;

        TestThread.Start("other", () => other = AutoResetLatch.OfThisThread).Join();

        Assert.That(AutoResetLatch.OfThisThread, Is.SameAs(mine));
        Assert.That(other, Is.Not.Null.And.Not.SameAs(mine));
    }
}
