using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.Arm;
using System.Runtime.Intrinsics.X86;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The time that a thread spins before it goes to sleep. Each waiting place has its own instance, which adapts: a
/// failed spin halves the budget, a successful one restores it, a short sleep raises it to cover a wait of that length,
/// and a budget of zero is probed now and then.
/// <para>
/// A spin alternates bursts of pause instructions with a yield. Without the yield it would starve the very peer that it
/// waits for when processors are short. With it, spinning pays even in a reader that sends all user code to the pool:
/// without spinning, 64 callers there make 240,000 calls a second instead of 600,000. After a yield that gave the
/// processor away there is no burst: another thread wants this processor.
/// </para>
/// While yields are slow (<see cref="SlowYields"/>), no thread spins for longer than a moment.
/// At most (number of processors - 1) threads of this process make more than one burst at a time; none spins on a
/// single processor.
/// </summary>
/// <param name="yields">What this process knows of its yields; null for what all its threads share.</param>
/// <param name="maxSharedWaits">
/// After this many waits in a row, less one, in which yields gave the processor to another thread, a wait sleeps at
/// once; null for never. The system moves a thread to an idle processor when it wakes up, and not when it yields. So
/// two threads that only yield to each other could share one for long.
/// </param>
internal sealed class SpinBudget(SlowYields? yields = null, int? maxSharedWaits = null)
{
    // Measured: 2 µs bursts and a yield keep the fast case at its minimum, the slow one (no processor) at about 7 µs.
    private const int FirstMicroseconds = 20;

    // A little more than one wake-up costs waker and sleeper together on a virtual machine. If each answer takes this
    // long (100 KiB to copy and parse), spinning takes a third of the time of sleeping, and less processor time.
    private const int LongestMicroseconds = 100;
    private const int BurstMicroseconds = 2;
    private const int PausesPerClockRead = 16;

    // Measured with 8 blocking callers on two processors: 64 are no better, and those that fit into the budget are too
    // few.
    private const int MaxUncountedYields = 16;

    // A place with a budget of zero spins once in so many waits.
    private const int ProbeEvery = 64;

    private static readonly long s_firstTicks = Stopwatch.Frequency * FirstMicroseconds / 1_000_000;
    private static readonly long s_longestTicks = Stopwatch.Frequency * LongestMicroseconds / 1_000_000;
    private static readonly long s_burstTicks = Math.Max(1, Stopwatch.Frequency * BurstMicroseconds / 1_000_000);
    private static readonly int s_maxSpinners = Environment.ProcessorCount - 1;
    private static readonly SlowYields s_yields = new();
    private static PaddedCount s_spinners;

    private readonly SlowYields _yields = yields ?? s_yields;
    private long _budgetTicks = s_firstTicks;
    private int _skipped;

    // The last yield gave the processor away. Each thread that waits here may set it.
    private bool _sharesProcessor;
    private int _sharedWaits; // in a row, begun while that was so

    /// <summary>The upper limit of every budget.</summary>
    public static TimeSpan Longest => TimeSpan.FromMicroseconds(LongestMicroseconds);

    /// <summary>The budget of the next spin. If it is zero, only an occasional probe spins.</summary>
    public TimeSpan Current => TimeSpan.FromTicks(_budgetTicks * TimeSpan.TicksPerSecond / Stopwatch.Frequency);

    /// <summary>Spins until the condition is met or the budget is spent. Returns whether it is met.</summary>
    public bool SpinUntil<TCondition>(TCondition condition)
        where TCondition : struct, ISpinCondition =>
        SpinUntil(condition, out _);

    /// <summary>
    /// Spins as the other overload does, and returns also the time stamp of the beginning of the wait, for
    /// <see cref="RecordSleep"/>; 0 if the condition was met at once.
    /// </summary>
    public bool SpinUntil<TCondition>(TCondition condition, out long since)
        where TCondition : struct, ISpinCondition
    {
        since = 0;
        if (condition.IsMet)
        {
            return true;
        }

        long start = Stopwatch.GetTimestamp();
        since = start;
        long budget = NextBudget();
        if (budget == 0 || s_maxSpinners == 0)
        {
            return false;
        }

        long now = start;
        if (_yields.AreExpected(start))
        {
            return SpinBurst(condition, ref now);
        }

        // Most waits for a peer that is awake end here. They are not counted: that would be two interlocked operations
        // on a word that all waits of the process share.
        if (YieldWhileShared(condition, ref now, end: start + s_longestTicks)
            || (!_sharesProcessor && SpinBurst(condition, ref now)))
        {
            if (_budgetTicks < s_firstTicks)
            {
                _budgetTicks = s_firstTicks;
            }

            return true;
        }

        if (!TryEnter())
        {
            return false;
        }

        bool isMet = false;
        try
        {
            isMet = Spin(condition, now, start + budget);
        }
        finally
        {
            Interlocked.Decrement(ref s_spinners.Value);
        }

        (isMet ? ProcessCounts.SpinsMet : ProcessCounts.SpinsInVain).Add();

        // The race is benign: several threads may adapt one budget, and each of their values is a sensible one.
        _budgetTicks = isMet ? Math.Max(budget, s_firstTicks) : budget > s_burstTicks ? budget / 2 : 0;
        return isMet;
    }

    /// <summary>
    /// Adapts the budget after a sleep that ended because the condition was met. If the wait since the time stamp from
    /// <c>SpinUntil</c> was within the upper limit, the next spin is made long enough for such a wait.
    /// </summary>
    public void RecordSleep(long since)
    {
        long waited = Stopwatch.GetTimestamp() - since;
        if (waited <= s_longestTicks)
        {
            _budgetTicks = Math.Clamp(waited + (waited / 2), s_firstTicks, s_longestTicks);
        }
    }

    // While another thread wants this processor, and perhaps the awaited one does, a burst would keep it from its turn.
    private bool YieldWhileShared<TCondition>(TCondition condition, ref long now, long end)
        where TCondition : struct, ISpinCondition
    {
        for (int i = 0; i < MaxUncountedYields && _sharesProcessor && now <= end; i++)
        {
            if (IsMetAfterYield(condition, ref now))
            {
                return true;
            }
        }

        return false;
    }

    // Follows a burst or yields.
    private bool Spin<TCondition>(TCondition condition, long now, long end)
        where TCondition : struct, ISpinCondition
    {
        while (now <= end)
        {
            if (IsMetAfterYield(condition, ref now)
                || (!_sharesProcessor && SpinBurst(condition, ref now)))
            {
                return true;
            }
        }

        return condition.IsMet;
    }

    private bool IsMetAfterYield<TCondition>(TCondition condition, ref long now)
        where TCondition : struct, ISpinCondition
    {
        long before = now;
        Thread.Yield();
        now = Stopwatch.GetTimestamp();
        _yields.Note(before, now);

        // Written only when it changes, because all that wait here read it.
        bool sharesProcessor = now - before > s_burstTicks;
        if (_sharesProcessor != sharesProcessor)
        {
            _sharesProcessor = sharesProcessor;
            _sharedWaits = 0;
        }

        return condition.IsMet;
    }

    // A peer that is awake on another processor mostly answers within one burst. The time is measured, because a pause
    // takes ten times as long on some processors as on others.
    private static bool SpinBurst<TCondition>(TCondition condition, ref long now)
        where TCondition : struct, ISpinCondition
    {
        long end = now + s_burstTicks;
        do
        {
            for (int i = 0; i < PausesPerClockRead; i++)
            {
                Pause();
                if (condition.IsMet)
                {
                    return true;
                }
            }

            now = Stopwatch.GetTimestamp();
        }
        while (now < end);

        return false;
    }

    private long NextBudget()
    {
        if (maxSharedWaits is { } most && _sharesProcessor && ++_sharedWaits >= most)
        {
            _sharedWaits = 0;
            return 0;
        }

        long budget = _budgetTicks;
        if (budget > 0)
        {
            return budget;
        }

        if (++_skipped < ProbeEvery)
        {
            return 0;
        }

        _skipped = 0;
        return s_firstTicks;
    }

    private static bool TryEnter()
    {
        // Most that come in vain write nothing, so that they do not take the word from those that spin.
        if (Volatile.Read(ref s_spinners.Value) >= s_maxSpinners)
        {
            return false;
        }

        if (Interlocked.Increment(ref s_spinners.Value) <= s_maxSpinners)
        {
            return true;
        }

        Interlocked.Decrement(ref s_spinners.Value);
        return false;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Pause()
    {
        if (X86Base.IsSupported)
        {
            X86Base.Pause();
        }
        else if (ArmBase.IsSupported)
        {
            ArmBase.Yield();
        }
        else
        {
            Thread.SpinWait(1);
        }
    }
}

/// <summary>A number that shares its cache line, and the one that is fetched with it, with nothing else.</summary>
[StructLayout(LayoutKind.Explicit, Size = 256)]
internal struct PaddedCount
{
    [FieldOffset(128)]
    public int Value;
}

/// <summary>
/// The condition that a spinning thread waits for. Only structs implement it, so the JIT compiles the check into the
/// loop; a delegate would cost a call for each check.
/// </summary>
internal interface ISpinCondition
{
    bool IsMet { get; }
}
