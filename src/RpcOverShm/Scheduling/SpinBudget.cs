using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.Arm;
using System.Runtime.Intrinsics.X86;

namespace RpcOverShm.Scheduling;

/// <summary>
/// How long a thread looks for what it waits for before it goes to sleep. Only for threads that will use the result
/// themselves; one instance per waiting place, so that each adapts to its own success: a failed spin halves the budget,
/// a successful one restores it, and a spent budget is tried again now and then. Bursts of pause instructions with a
/// yield between them: a pure pause spin starves the very peer it waits for when processors are short.
/// At most one thread fewer than there are processors spins in this process, and none where there is only one.
/// </summary>
internal sealed class SpinBudget
{
    // Measured: a burst of 2 µs and a yield keeps the fast case at its minimum and caps the bad one at about 7 µs.
    private const int LongestMicroseconds = 20;
    private const int BurstMicroseconds = 2;
    private const int PausesPerLook = 16;

    // How often a place that has given up spinning tries again.
    private const int ProbeEvery = 64;

    private static readonly long s_longestTicks = Stopwatch.Frequency * LongestMicroseconds / 1_000_000;
    private static readonly long s_burstTicks = Math.Max(1, Stopwatch.Frequency * BurstMicroseconds / 1_000_000);
    private static readonly int s_maxSpinners = Environment.ProcessorCount - 1;
    private static int s_spinners;

    private long _budgetTicks = s_longestTicks;
    private int _skipped;

    /// <summary>Looks until the condition is met or the budget is spent. True when it is met.</summary>
    public bool SpinUntil<TCondition>(TCondition condition)
        where TCondition : struct, ISpinCondition
    {
        if (condition.IsMet)
        {
            return true;
        }

        long budget = NextBudget();
        if (budget == 0 || !TryEnter())
        {
            return false;
        }

        bool isMet = false;
        try
        {
            isMet = Spin(condition, budget);
        }
        finally
        {
            Interlocked.Decrement(ref s_spinners);
        }

        // Racy on purpose: several threads may adapt one budget, and any of their values is a sensible one.
        _budgetTicks = isMet ? s_longestTicks : budget > s_burstTicks ? budget / 2 : 0;
        return isMet;
    }

    private static bool Spin<TCondition>(TCondition condition, long budget)
        where TCondition : struct, ISpinCondition
    {
        long start = Stopwatch.GetTimestamp();
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
        return s_longestTicks;
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
