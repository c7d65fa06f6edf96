using System.Diagnostics;
using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>
/// The contract of every signal. The sleepers sleep on the peer's read-only mapping; the other side wakes them through
/// its own mapping and its own instance, as in another process.
/// </summary>
[LinuxOnly("Sleepers are found in /proc. The signal of Windows has SemaphoreSignalTests.")]
public abstract class SignalContract
{
    private static readonly TimeSpan s_long = TimeSpan.FromMinutes(5);

    private readonly MappedSegment _segment = new(64 << 10);
    private Signal _signal = null!;
    private Signal _peers = null!;

    private SharedWord Word => new(ref _segment.View.Tail);

    private SharedWord OtherWord => new(ref _segment.View.Head);

    private SharedWord PeersWord => new(ref _segment.Own.Tail);

    [SetUp]
    public void CreateSignals()
    {
        _signal = (Signal)Create();
        _peers = (Signal)Create();
    }

    [TearDown]
    public void Unmap() => _segment.Dispose();

    [Test]
    public void Wait_WhenTheWordDiffers_ReturnsAtOnce()
    {
        SharedMemoryOrder.WriteFenced(ref _segment.Own.Tail, 16);

        Assert.That(new Sleeper(() => _signal.Wait(Word, 0, _signal.LocalEvents, s_long)).Join().WasWoken);
    }

    [Test]
    public void Wait_WhenOnlyTheHighHalfDiffers_Sleeps()
    {
        SharedMemoryOrder.WriteFenced(ref _segment.Own.Tail, 1L << 32);

        Assert.That(_signal.Wait(Word, 0, _signal.LocalEvents, TimeSpan.FromMilliseconds(5)), Is.False);
    }

    [Test]
    public void Wait_AfterTheTime_ReturnsFalseAndNotBefore()
    {
        var time = TimeSpan.FromMilliseconds(30);
        long start = Stopwatch.GetTimestamp();

        bool wasWoken = _signal.Wait(Word, 0, _signal.LocalEvents, time);

        Assert.That(wasWoken, Is.False);
        Assert.That(Stopwatch.GetElapsedTime(start), Is.GreaterThanOrEqualTo(time));
    }

    [Test]
    public void Wait_WithNoTime_ReturnsAtOnce()
    {
        Assert.That(_signal.Wait(Word, 0, _signal.LocalEvents, TimeSpan.Zero), Is.False);
    }

    [Test]
    public void Wait_AfterALocalEventSinceTheSample_ReturnsAtOnce()
    {
        uint sample = _signal.LocalEvents;
        _signal.RaiseLocalEvent();

        Assert.That(new Sleeper(() => _signal.Wait(Word, 0, sample, s_long)).Join().WasWoken);
    }

    [Test]
    public void Wake_OfAWordThatHasNotChanged_WakesASleeper()
    {
        Sleeper sleeper = NewSleeper().WaitUntilAsleep();

        // One wake is enough for a thread that sleeps on the word. A thread asleep in the kernel may not be there yet.
        while (sleeper.IsAlive)
        {
            _signal.Wake(Word);
            Thread.Yield();
        }

        Assert.That(sleeper.Join().WasWoken);
    }

    [Test]
    public void Wake_ByThePeerAfterItsStore_WakesAllSleepers([Values] bool areAsleep)
    {
        Sleeper[] sleepers = NewSleepers(areAsleep);

        SharedMemoryOrder.WriteFenced(ref _segment.Own.Tail, 16);
        _peers.Wake(PeersWord);

        Assert.That(sleepers.Select(sleeper => sleeper.Join().WasWoken), Is.All.True);
    }

    [Test]
    public void Wake_ByThisSideThroughTheReadOnlyMapping_WakesAllSleepers()
    {
        Sleeper[] sleepers = NewSleepers(areAsleep: true);

        SharedMemoryOrder.WriteFenced(ref _segment.Own.Tail, 16);
        _signal.Wake(Word);

        Assert.That(sleepers.Select(sleeper => sleeper.Join().WasWoken), Is.All.True);
    }

    [Test]
    public void RaiseLocalEvent_Once_WakesAllSleepersOnAllWords([Values] bool areAsleep)
    {
        Sleeper[] sleepers = [.. NewSleepers(areAsleep), NewSleeper(isOnOtherWord: true)];

        _signal.RaiseLocalEvent();

        Assert.That(sleepers.Select(sleeper => sleeper.Join().WasWoken), Is.All.True);
    }

    [Test]
    public void RaiseLocalEvent_OfTheOtherSide_IsNotThisOnes()
    {
        uint before = _signal.LocalEvents;

        _peers.RaiseLocalEvent();

        Assert.That(_signal.LocalEvents, Is.EqualTo(before));
    }

    [Test]
    public void RaiseLocalEvent_WithNobodyAsleep_Counts()
    {
        uint before = _signal.LocalEvents;

        _signal.RaiseLocalEvent();
        _signal.RaiseLocalEvent();

        Assert.That(_signal.LocalEvents, Is.EqualTo(before + 2));
    }

    [Test]
    public void RaiseLocalEvent_InAStorm_IsNeverMissed()
    {
        // Each round begins as soon as the last event was seen, so the next event meets any step on the way to sleep.
        const int Rounds = 100_000;
        int raised = 0;
        int seen = 0;
        int missed = 0;
        TestThread sleeper = TestThread.Start("storm", () =>
        {
            while (Volatile.Read(ref seen) < Rounds)
            {
                uint sample = _signal.LocalEvents;
                int now = Volatile.Read(ref raised);
                if (now != seen)
                {
                    Volatile.Write(ref seen, now);
                }
                else if (!_signal.Wait(Word, 0, sample, TimeSpan.FromSeconds(10)) && Volatile.Read(ref raised) != seen)
                {
                    missed++;
                }
            }
        });

        for (int i = 1; i <= Rounds && sleeper.IsAlive; i++)
        {
            Volatile.Write(ref raised, i);
            _signal.RaiseLocalEvent();
            for (int spins = 0; Volatile.Read(ref seen) != i && sleeper.IsAlive; spins++)
            {
                if (spins > 200)
                {
                    Thread.Yield();
                }
            }
        }

        sleeper.Join();
        Assert.That(missed, Is.Zero);
    }

    [Test]
    public void RaiseLocalEvent_FromManyThreadsOverManySleepers_ReachesEachAndReturns()
    {
        const int Sleepers = 3;
        const int RaisesEach = 2_000;
        int done = 0;
        int missed = 0;
        TestThread[] sleepers = [.. Enumerable.Range(0, Sleepers).Select(i => TestThread.Start("storm", () =>
        {
            while (Volatile.Read(ref done) < 2)
            {
                uint sample = _signal.LocalEvents;
                bool isOver = Volatile.Read(ref done) == 2;
                SharedWord word = i == 0 ? Word : OtherWord;
                if (!isOver
                    && !_signal.Wait(word, 0, sample, TimeSpan.FromSeconds(10))
                    && _signal.LocalEvents != sample)
                {
                    Interlocked.Increment(ref missed);
                }
            }
        }))];
        TestThread[] raisers = [.. Enumerable.Range(0, 2).Select(_ => TestThread.Start("raiser", () =>
        {
            for (int i = 0; i < RaisesEach; i++)
            {
                _signal.RaiseLocalEvent();
            }

            Interlocked.Increment(ref done);
            _signal.RaiseLocalEvent();
        }))];

        // The last event must wake all sleepers; one that missed it would keep its thread from ending.
        Array.ForEach(raisers, raiser => raiser.Join());
        Array.ForEach(sleepers, sleeper => sleeper.Join());
        Assert.That(missed, Is.Zero);
        Assert.That(_signal.LocalEvents, Is.EqualTo((2 * RaisesEach) + 2));
    }

    [Test]
    public void Wait_WhileASleeperSleeps_LetsTheCollectorRun()
    {
        Sleeper sleeper = NewSleeper().WaitUntilAsleep();

        // A thread that sleeps in cooperative mode would block this collection until it wakes.
        TestThread.Start("collector", () =>
        {
            for (int i = 0; i < 10; i++)
            {
                GC.Collect();
            }
        }).Join();

        Assert.That(sleeper.IsAlive);
        _signal.RaiseLocalEvent();
        Assert.That(sleeper.Join().WasWoken);
    }

    [Test]
    public void RaiseLocalEvent_AfterManyWaits_FindsNobodyLeftBehind()
    {
        // A sleeper that remains in a list would keep RaiseLocalEvent from returning.
        for (int i = 0; i < 1000; i++)
        {
            _signal.Wait(Word, 1, _signal.LocalEvents, s_long);
            _signal.Wait(Word, 0, _signal.LocalEvents - 1, s_long);
        }

        uint before = _signal.LocalEvents;
        TestThread.Start("raiser", _signal.RaiseLocalEvent).Join();
        Assert.That(_signal.LocalEvents, Is.EqualTo(before + 1));
    }

    protected void WakeByThePeer() => _peers.Wake(PeersWord);

    protected void WakeAll() => _signal.RaiseLocalEvent();

    /// <summary>Creates the implementation under test.</summary>
    protected abstract object Create();

    private Sleeper NewSleeper(bool isOnOtherWord = false)
    {
        SharedWord word = isOnOtherWord ? OtherWord : Word;
        uint sample = _signal.LocalEvents;
        return new Sleeper(() => _signal.Wait(word, 0, sample, s_long));
    }

    private protected Sleeper[] NewSleepers(bool areAsleep)
    {
        Sleeper[] sleepers = [NewSleeper(), NewSleeper(), NewSleeper(), NewSleeper()];
        if (areAsleep)
        {
            Array.ForEach(sleepers, sleeper => sleeper.WaitUntilAsleep());
        }

        return sleepers;
    }
}

/// <summary>
/// The futex signal without futex_waitv: a local event wakes repeatedly until each sleeper has noticed.
/// </summary>
public class FutexSignalWithoutWaitvTests : SignalContract
{
    protected override object Create() => new FutexSignal(useWaitv: false);
}

/// <summary>The portable signal.</summary>
public class PollingSignalTests : SignalContract
{
    protected override object Create() => new PollingSignal();
}
