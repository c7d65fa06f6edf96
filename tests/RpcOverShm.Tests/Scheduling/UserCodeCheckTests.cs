using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>When user code counts as keeping its thread, as the watchdog sees it.</summary>
[NonParallelizable]
public class UserCodeCheckTests
{
    private const long Word = 6;
    private const long NextWord = 10;

    [Test]
    public void IsKept_AtTheFirstCheckOfARun_IsFalse()
    {
        using var thread = new UserThread(static _ => Thread.Sleep(Timeout.Infinite));
        var check = default(UserCodeCheck);

        Assert.That(check.IsKept(Word, thread.State), Is.False);
        Assert.That(check.IsKept(NextWord, thread.State), Is.False);
    }

    [Test]
    public void IsKept_ByCodeThatBlocks_IsTrueAtTheSecondCheck()
    {
        using var thread = new UserThread(static _ => Thread.Sleep(Timeout.Infinite));
        var check = default(UserCodeCheck);

        Assert.That(() => SecondCheck(ref check, thread.State), Is.True.After(20_000, 1));
    }

    [Test]
    public void IsKept_ByCodeThatUsesMuchProcessorTime_IsTrue()
    {
        using var thread = new UserThread(Spin);
        var check = default(UserCodeCheck);
        long begun = HostSystem.Current.TimeOfThread(thread.State.ThreadId);
        Assert.That(check.IsKept(Word, thread.State), Is.False, "the first check");
        int checks = 0;

        Assert.That(IsKept, Is.True.After(60_000, 1));

        // On a starved machine the number of checks may come first.
        long used = HostSystem.Current.TimeOfThread(thread.State.ThreadId) - begun;
        Assert.That(used >= UserCodeCheck.MostNanoseconds || checks > UserCodeCheck.MostWaits, $"{used} ns, {checks}");

        bool IsKept()
        {
            checks++;
            return check.IsKept(Word, thread.State);
        }
    }

    [Test]
    public void IsKept_ByCodeThatUsedLittleAndStillRuns_IsFalse()
    {
        using var thread = new UserThread(Spin);
        bool isAnyFalse = false;

        // The thread runs all the time. Two checks within half a millisecond of its processor time do not count; on a
        // busy machine a check may come later than that.
        for (int attempt = 0; attempt < 1000 && !isAnyFalse; attempt++)
        {
            var check = default(UserCodeCheck);
            check.IsKept(Word, thread.State);
            isAnyFalse = !check.IsKept(Word, thread.State);
        }

        Assert.That(isAnyFalse);
    }

    [Test]
    public void IsKept_AfterAGarbageCollection_BeginsAnew()
    {
        using var thread = new UserThread(static _ => Thread.Sleep(Timeout.Infinite));
        var check = default(UserCodeCheck);
        check.IsKept(Word, thread.State);

        GC.Collect();

        Assert.That(check.IsKept(Word, thread.State), Is.False);
    }

    private static bool SecondCheck(ref UserCodeCheck check, LoopThread thread)
    {
        check = default;
        check.IsKept(Word, thread);
        return check.IsKept(Word, thread);
    }

    private static void Spin(CancellationToken stop)
    {
        while (!stop.IsCancellationRequested)
        {
            Thread.SpinWait(10);
        }
    }

    private sealed class UserThread : IDisposable
    {
        private readonly CancellationTokenSource _stop = new();
        private readonly Thread _thread;
        private LoopThread? _state;

        public UserThread(Action<CancellationToken> run)
        {
            using var started = new ManualResetEventSlim();
            _thread = new Thread(() =>
            {
                _state = new LoopThread(new EventLoop());
                started.Set();
                try
                {
                    run(_stop.Token);
                }
                catch (ThreadInterruptedException)
                {
                    // The end of a test that blocks.
                }
            })
            {
                IsBackground = true,
            };
            _thread.Start();
            started.Wait();
        }

        public LoopThread State => _state!;

        public void Dispose()
        {
            _stop.Cancel();
            _thread.Interrupt();
            _thread.Join();
            _stop.Dispose();
        }
    }
}
