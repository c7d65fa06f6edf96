using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.Arm;
using System.Runtime.Intrinsics.X86;

namespace RpcOverShm.Scheduling;

/// <summary>
/// How long a thread looks for what it waits for before it goes to sleep. One instance per waiting place, so that each
/// adapts to its own success: a failed spin halves the budget, a successful one restores it, a sleep that ended soon
/// makes it long enough for that, and a spent budget is tried again now and then. Bursts of pause instructions with a
/// yield between them: a pure pause spin starves the very peer it waits for when processors are short. With the yields
/// it pays even in a reader that hands all work to the pool: without it 64 callers there make 240,000 calls a second
/// instead of 600,000.
/// At most one thread fewer than there are processors spins in this process, and none where there is only one.
/// </summary>
internal sealed class SpinBudget
{
    // Measured: a burst of 2 µs and a yield keeps the fast case at its minimum and caps the bad one at about 7 µs.
    private const int FirstMicroseconds = 20;

    // What a wake-up costs both sides together on a virtual machine, and a little more: a peer that needs so long for
    // each answer (100 KiB to copy and parse) is waited for at a third of the time and less processor time than asleep.
    private const int LongestMicroseconds = 100;
    private const int BurstMicroseconds = 2;
    private const int PausesPerLook = 16;

    // How often a place that has given up spinning tries again.
    private const int ProbeEvery = 64;

    private static readonly long s_firstTicks = Stopwatch.Frequency * FirstMicroseconds / 1_000_000;
    private static readonly long s_longestTicks = Stopwatch.Frequency * LongestMicroseconds / 1_000_000;
    private static readonly long s_burstTicks = Math.Max(1, Stopwatch.Frequency * BurstMicroseconds / 1_000_000);
    private static readonly int s_maxSpinners = Environment.ProcessorCount - 1;
    private static int s_spinners;

    private long _budgetTicks = s_firstTicks;
    private int _skipped;

    /// <summary>The longest that any spin takes.</summary>
    public static TimeSpan Longest => TimeSpan.FromMicroseconds(LongestMicroseconds);

    /// <summary>How long the next spin looks; zero for not at all, but for a probe.</summary>
    public TimeSpan Current => TimeSpan.FromTicks(_budgetTicks * TimeSpan.TicksPerSecond / Stopwatch.Frequency);

    /// <summary>Looks until the condition is met or the budget is spent. True when it is met.</summary>
    public bool SpinUntil<TCondition>(TCondition condition)
        where TCondition : struct, ISpinCondition =>
        SpinUntil(condition, out _);

    /// <summary>The same.</summary>
    /// <param name="condition">What is waited for.</param>
    /// <param name="since">For <see cref="RecordSleep"/>, where this was in vain: when the wait began.</param>
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
        if (budget == 0 || !TryEnter())
        {
            return false;
        }

        bool isMet = false;
        try
        {
            isMet = Spin(condition, start, budget);
        }
        finally
        {
            Interlocked.Decrement(ref s_spinners);
        }

        // Racy on purpose: several threads may adapt one budget, and any of their values is a sensible one.
        _budgetTicks = isMet ? Math.Max(budget, s_firstTicks) : budget > s_burstTicks ? budget / 2 : 0;
        return isMet;
    }

    /// <summary>
    /// The thread slept after its spin, and what it waited for has come: had a spin of bearable length found it, the
    /// next one will be that long.
    /// </summary>
    /// <param name="since">When the wait began.</param>
    public void RecordSleep(long since)
    {
        long waited = Stopwatch.GetTimestamp() - since;
        if (waited <= s_longestTicks)
        {
            _budgetTicks = Math.Clamp(waited + (waited / 2), s_firstTicks, s_longestTicks);
        }
    }

    private static bool Spin<TCondition>(TCondition condition, long start, long budget)
        where TCondition : struct, ISpinCondition
    {
        long burstStart = start;
        while (true)
        {
            for (int i = 0; i < PausesPerLook; i++)
            {
                if (condition.IsMet)
                {
                    return true;
                }

                Pause();
            }

            long now = Stopwatch.GetTimestamp();
            if (now - start > budget)
            {
                return condition.IsMet;
            }

            if (now - burstStart > s_burstTicks)
            {
                Thread.Yield();
                burstStart = Stopwatch.GetTimestamp();
            }
        }
    }

    private long NextBudget()
    {
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
        if (Interlocked.Increment(ref s_spinners) <= s_maxSpinners)
        {
            return true;
        }

        Interlocked.Decrement(ref s_spinners);
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

/// <summary>
/// What a spinning thread waits for. Implemented by structs only, so that the look is compiled into the loop; it is an
/// interface because C# has no other way to pass code to a generic method without a call for each look.
/// </summary>
internal interface ISpinCondition
{
    bool IsMet { get; }
}
