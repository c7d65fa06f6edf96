using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Whether one kind of user code (a served method, the continuations of a channel) runs inline on the reading thread or on
/// the thread pool: inline until it proves slow, by the moving average of its time or because its role had to be rescued;
/// then on the pool, with a try inline now and then. Only some runs are timed: looking at the clock costs a tenth of a fast
/// call. Any thread may use it; races cost a wrong guess, which the next runs correct.
/// </summary>
internal sealed class InlineBudget
{
    // A hop to the pool costs about 8 µs and wakes a thread; above this the hop no longer matters to the call.
    private const int SlowMicroseconds = 50;

    // Of how many inline runs one is timed, once it is known to be fast.
    private const int TimeEvery = 16;

    // How many runs go to the pool before inline is tried again; doubled each time that it proves slow once more.
    private const int FirstPause = 64;
    private const int LongestPause = 1 << 14;

    private static readonly long s_slowTicks = Stopwatch.Frequency * SlowMicroseconds / 1_000_000;

    // What one run counts for at most, so that one outlier makes nothing slow.
    private static readonly long s_longestTicks = s_slowTicks * 8;

    private long _averageTicks;
    private int _runs;
    private int _pause;          // runs that go to the pool before the next try
    private int _nextPause = FirstPause;

    /// <summary>True when the next run should be inline.</summary>
    public bool IsInline
    {
        get
        {
            int pause = _pause;
            if (pause == 0)
            {
                return true;
            }

            _pause = pause - 1;
            return false;
        }
    }

    /// <summary>Begins an inline run. The result goes to <see cref="End"/>.</summary>
    /// <returns>A time stamp when this run is timed, else 0.</returns>
    public long Begin() => (_runs++ & (TimeEvery - 1)) == 0 || _averageTicks > s_slowTicks / 2 ? Stopwatch.GetTimestamp() : 0;

    /// <summary>Ends an inline run that kept its role.</summary>
    public void End(long begun)
    {
        if (begun != 0)
        {
            Note(Stopwatch.GetTimestamp() - begun);
        }
    }

    /// <summary>
    /// The role was taken from an inline run. It counts as a very slow one and no more: on a busy machine the thread may
    /// just not have been given a processor.
    /// </summary>
    public void NoteRescue() => Note(s_longestTicks);

    private void Note(long ticks)
    {
        // An eighth of the new and seven of the old; the first run includes the compiler's work and counts for little.
        _averageTicks += (Math.Min(ticks, s_longestTicks) - _averageTicks) / 8;
        if (_averageTicks > s_slowTicks)
        {
            BecomeSlow();
        }
        else if (_averageTicks < s_slowTicks / 4)
        {
            _nextPause = FirstPause;
        }
    }

    private void BecomeSlow()
    {
        _pause = _nextPause;
        _nextPause = Math.Min(_nextPause * 2, LongestPause);
        _averageTicks = s_slowTicks / 2;
    }
}
