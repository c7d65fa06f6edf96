using System.Diagnostics;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Scheduling;

public class SpinBudgetTests
{
    private const int ChecksPerBurst = 16;
    private const int MaxUncountedYields = 16;
    private static readonly TimeSpan s_burst = TimeSpan.FromMicroseconds(2);

    // Far more than halve the budget to zero: those that find all other processors spinning leave it.
    private const int MostFailures = 100_000;

    private const int ProbeEvery = 64;

    // However busy the machine is, no yield of these tests counts as slow.
    private static readonly SlowYields s_yields = new(TimeSpan.FromDays(1));

    private readonly SpinBudget _budget = new(s_yields);

    [SetUp]
    public void RequireTwoProcessors() =>
        Assume.That(Environment.ProcessorCount, Is.GreaterThan(1), "Nobody spins on one processor.");

    [TestCase(1)]
    [TestCase(10)]
    public void SpinUntil_WhatIsOrBecomesSo_IsTrueAtThatCheck(int metAt)
    {
        var checks = new Checks(metAt);

        Assert.That(_budget.SpinUntil(new Condition(checks)));
        Assert.That(checks.Count, Is.EqualTo(metAt));
    }

    [Test]
    public void SpinUntil_WhatIsNeverSo_EndsAfterManyChecks()
    {
        var checks = new Checks(metAt: long.MaxValue);

        Assert.That(_budget.SpinUntil(new Condition(checks)), Is.False);
        Assert.That(checks.Count, Is.GreaterThan(16));
    }

    [Test]
    public void SpinUntil_WhileYieldsAreSlow_MakesOneBurstWithoutAny()
    {
        var yields = new SlowYields(TimeSpan.FromTicks(-1)); // Two yields in a row say that yields are slow.
        var budget = new SpinBudget(yields);
        Assert.That(budget.SpinUntil(new Condition(new Checks(metAt: 3))));
        bool wereExpected = yields.AreExpected(Stopwatch.GetTimestamp());

        // The spinners of other tests may leave no place.
        for (int i = 0; i < 1000 && !yields.AreExpected(Stopwatch.GetTimestamp()); i++)
        {
            budget.SpinUntil(new Condition(new Checks(metAt: long.MaxValue)));
        }

        long since = Stopwatch.GetTimestamp();
        var checks = new Checks(metAt: long.MaxValue);
        bool isMet = budget.SpinUntil(new Condition(checks));

        Assert.That(wereExpected, Is.False, "A wait that ends within its first burst does not yield.");
        Assert.That(isMet, Is.False);
        Assert.That(yields.AreExpected(since), "The yields of a spin are noted.");
        Assert.That(checks.IsSpinCounted, Is.False);
    }

    // With a burst in each wait there are more than a hundred checks. A wait that a thread gives up stands for a sleep,
    // after which the system could place it on another processor; without the rule for that there are next to none.
    [Test, LinuxOnly("Threads that share a processor by sched_setaffinity.")]
    public void SpinUntil_WhatAThreadOnTheSameProcessorDoes_YieldsAndSleepsInsteadOfPausing()
    {
        const int Rounds = 2000;
        const int MostChecksOfARound = 20;
        const int MaxSharedWaits = 12;
        const int LeastSleeps = Rounds / MaxSharedWaits / 3;
        int processor = Thread.GetCurrentProcessorId();
        int[] turns = [0, 0];
        long[] checks = [0, 0];
        int[] sleeps = [0, 0];

        TestThread.RunAll("shares a processor", 2, mine =>
        {
            NativeCalls.StayOn(processor);
            var budget = new SpinBudget(s_yields, MaxSharedWaits);
            for (int round = 1; round <= Rounds; round++)
            {
                var condition = new Turn(turns, 1 - mine, mine == 0 ? round - 1 : round, checks, mine);
                while (!budget.SpinUntil(condition))
                {
                    sleeps[mine]++;
                    Thread.Yield();
                }

                Volatile.Write(ref turns[mine], round);
            }
        });

        Assert.That(checks, Is.All.LessThan(Rounds * MostChecksOfARound));
        Assert.That(sleeps, Is.All.GreaterThan(LeastSleeps));
    }

    [Test]
    public void SpinUntil_AfterManyFailures_DoesNotSpin()
    {
        GiveUp();
        var checks = new Checks(metAt: long.MaxValue);

        Assert.That(_budget.SpinUntil(new Condition(checks)), Is.False);
        Assert.That(checks.Count, Is.EqualTo(1));
    }

    [Test]
    public void SpinUntil_AfterManyFailures_TriesAgainNowAndThen()
    {
        GiveUp();
        int probes = 0;
        for (int i = 0; i < ProbeEvery * 10; i++)
        {
            var checks = new Checks(metAt: long.MaxValue);
            _budget.SpinUntil(new Condition(checks));
            probes += checks.Count > 1 ? 1 : 0;
        }

        // A probe restores half of the budget, which takes a few failures to use up.
        Assert.That(probes, Is.InRange(5, 60));
    }

    [Test]
    public void SpinUntil_AfterASuccess_HasItsBudgetBack()
    {
        GiveUp();
        bool isMet = false;
        for (int i = 0; i < ProbeEvery * 3 && !isMet; i++)
        {
            isMet = _budget.SpinUntil(new Condition(new Checks(metAt: 2)));
        }

        var checks = new Checks(metAt: long.MaxValue);
        _budget.SpinUntil(new Condition(checks));

        Assert.That(isMet, "A probe has met it.");
        Assert.That(checks.Count, Is.GreaterThan(1));
    }

    [Test]
    public void RecordSleep_AfterAShortSleep_MakesTheNextSpinLongEnough()
    {
        TimeSpan usual = _budget.Current;

        // Of 50 µs. Repeats if this thread was preempted.
        for (int i = 0; i < 100 && _budget.Current <= usual; i++)
        {
            _budget.RecordSleep(Stopwatch.GetTimestamp() - (Stopwatch.Frequency / 20_000));
        }

        Assert.That(_budget.Current, Is.GreaterThan(usual));
        Assert.That(_budget.Current, Is.LessThanOrEqualTo(SpinBudget.Longest));
    }

    [Test]
    public void RecordSleep_AfterALongSleep_DoesNotBringTheBudgetBack()
    {
        long since = GiveUp();
        Thread.Sleep(SpinBudget.Longest * 10);
        _budget.RecordSleep(since);

        Assert.That(_budget.Current, Is.EqualTo(TimeSpan.Zero));
    }

    [Test]
    public void RecordSleep_AfterAShortSleep_BringsTheBudgetBack()
    {
        for (int i = 0; i < 100 && (i == 0 || _budget.Current == TimeSpan.Zero); i++)
        {
            _budget.RecordSleep(GiveUp());
        }

        Assert.That(_budget.Current, Is.GreaterThan(TimeSpan.Zero));
    }

    [Test]
    public void SpinUntil_WithAllButOneProcessorSpinning_SpinsForAMomentOnly()
    {
        using var mayEnd = new ManualResetEventSlim();
        Checks[] busy =
        [
            .. Enumerable.Range(1, Environment.ProcessorCount - 1)
                .Select(_ => new Checks(metAt: long.MaxValue, mayEnd)),
        ];
        TestThread[] spinners =
        [
            .. busy.Select(checks =>
                TestThread.Start("spinner", () => SpinOnce(checks))),
        ];
        foreach (Checks checks in busy)
        {
            Assert.That(checks.Entered.Wait(Timeouts.Wait), "The thread spins.");
        }

        Assert.That(_budget.SpinUntil(new Condition(new Checks(metAt: ChecksPerBurst / 2))));
        var mine = new Checks(metAt: long.MaxValue);
        bool isMet = _budget.SpinUntil(new Condition(mine));
        mayEnd.Set();
        Array.ForEach(spinners, spinner => spinner.Join());

        Assert.That(isMet, Is.False);
        Assert.That(mine.Count, Is.GreaterThan(1));
        Assert.That(mine.IsSpinCounted, Is.False);
        Assert.That(_budget.SpinUntil(new Condition(new Checks(metAt: 5))), "There is room again.");
    }

    // Threads of other tests may spin too: then this one does not, and nothing is thrown.
    [Test]
    public void SpinUntil_ThatThrows_GivesItsPlaceBack()
    {
        int thrown = 0;
        for (int i = 0; i < 100_000 && thrown <= Environment.ProcessorCount; i++)
        {
            try
            {
                var broken = new Checks(metAt: long.MaxValue, isBroken: true);
                new SpinBudget(s_yields).SpinUntil(new Condition(broken));
            }
            catch (InvalidOperationException)
            {
                thrown++;
            }
        }

        Assert.That(thrown, Is.GreaterThan(Environment.ProcessorCount));
        Assert.That(_budget.SpinUntil(new Condition(new Checks(metAt: 5))), "There is room.");
    }

    // Threads of other tests may spin at first.
    private static void SpinOnce(Checks checks)
    {
        while (!checks.Entered.IsSet)
        {
            checks.Restart();
            new SpinBudget(s_yields).SpinUntil(new Condition(checks));
        }
    }

    /// <summary>Fails until the budget is zero; returns when the last wait began.</summary>
    private long GiveUp()
    {
        long since;
        int failures = 0;
        do
        {
            _budget.SpinUntil(new Condition(new Checks(metAt: long.MaxValue)), out since);
        }
        while (_budget.Current > TimeSpan.Zero && ++failures < MostFailures);

        return since;
    }

    private readonly struct Condition(Checks checks) : ISpinCondition
    {
        public bool IsMet => checks.Check();
    }

    /// <summary>The other thread has had its turn. Counts the checks of this one.</summary>
    private readonly struct Turn(int[] turns, int other, int round, long[] checks, int mine) : ISpinCondition
    {
        public bool IsMet
        {
            get
            {
                checks[mine]++;
                return Volatile.Read(ref turns[other]) >= round;
            }
        }
    }

    /// <summary>Counts the checks, and decides when the condition is met.</summary>
    private sealed class Checks(long metAt, ManualResetEventSlim? mayEnd = null, bool isBroken = false)
    {
        private long _since;
        private int _late;

        public ManualResetEventSlim Entered { get; } = new();

        public long Count { get; private set; }

        /// <summary>Whether more checks came after the time of a burst than a spin makes before it counts.</summary>
        public bool IsSpinCounted => _late > ChecksPerBurst + MaxUncountedYields;

        public void Restart() => (Count, _late) = (0, 0);

        public bool Check()
        {
            _since = Count++ == 0 ? Stopwatch.GetTimestamp() : _since;
            _late += Stopwatch.GetElapsedTime(_since) > s_burst ? 1 : 0;
            if (IsSpinCounted && isBroken)
            {
                throw new InvalidOperationException("The check is broken.");
            }

            if (IsSpinCounted && mayEnd is not null)
            {
                Entered.Set();
                return mayEnd.Wait(Timeouts.Wait);
            }

            return Count >= metAt;
        }
    }
}
