using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Decides whether one kind of user code (a method, the continuations of a connection) runs inline or on the thread
/// pool. It runs inline until it proves slow, then on the pool, with an occasional inline trial. A run is slow if it
/// uses much processor time while records wait for the thread, or very much processor time in any case, or if it loses
/// the event loop. Runs vote, so one outlier does not change the decision. Only some runs are timed,
/// because the clock is a system call. Any thread may use this; a race costs a wrong guess, which later runs correct.
/// </summary>
internal sealed class InlineBudget
{
    // A thread switch to the pool costs about 8 µs and wakes a thread. Above 50 µs this is negligible for the call,
    // and the reading thread serves the waiting records meanwhile.
    private const int SlowMicroseconds = 50;

    // If no record waits, a thread switch helps no call, and a large message must first move to the cache of the pool's
    // processor: echoing 1 MiB is a quarter faster inline. A call that arrives during such a run is not delayed long.
    private const int VerySlowMicroseconds = 500;

    // A slow run weighs as much as two fast ones; four slow runs that no fast runs offset make the kind slow.
    private const int SlowVote = 2;
    private const int VotesForSlow = 8;

    // About one of 64 inline runs is timed while there are no votes for slow (Fibonacci hashing).
    private const uint HashFactor = 2_654_435_769;
    private const int HashShift = 26;

    // The number of runs on the pool before the next inline trial; doubled each time that the trial is slow.
    private const int FirstPause = 64;
    private const int LongestPause = 1 << 12;

    private const long SlowTicks = SlowMicroseconds * ThreadClock.TicksPerMicrosecond;
    private const long VerySlowTicks = VerySlowMicroseconds * ThreadClock.TicksPerMicrosecond;

    // The weight of the past in the moving average.
    private const int AverageOver = 4;

    // So that a run with much compilation in it is soon forgotten.
    private const long LargestSample = 100_000;

    // The number of timed runs that must be fast in a row before the pause starts from its shortest again.
    private const int FastRunsToForget = 16;

    private long _typical;             // processor time of a message, a moving average of the timed runs
    private int _votes;
    private int _fastRuns;             // timed and fast, since the last slow run
    private int _pause;                // runs that go to the pool before the next inline trial
    private int _nextPause = FirstPause;

    /// <summary>Returns whether the next run should be inline. Each call counts as one run.</summary>
    public bool ShouldRunInline()
    {
        int pause = _pause;
        if (pause == 0)
        {
            return true;
        }

        _pause = pause - 1;
        return false;
    }

    /// <summary>The processor time that a message of this kind typically takes, in nanoseconds; 0 if unknown.</summary>
    public long TypicalNanoseconds => _typical;

    /// <summary>Begins an inline run.</summary>
    /// <param name="run">
    /// The number of the run on its thread. It decides by a hash whether the run is timed: a count of runs here would
    /// be a cache line that every thread writes.
    /// </param>
    /// <returns>A time stamp for <see cref="End"/> if this run is timed, else 0.</returns>
    public long Begin(long run) =>
        _votes > 0 || _typical == 0 || ((uint)run * HashFactor) >> HashShift == 0 ? ThreadClock.Now : 0;

    /// <summary>
    /// Ends an inline run that kept the event loop, on the thread that began it. The time limit is multiplied
    /// by the number of the run's messages; it is lower if records wait for this thread to read them.
    /// </summary>
    public void End(long begun, int messages, bool isAnyWaiting)
    {
        if (begun != 0)
        {
            long used = ThreadClock.Now - begun;
            long sample = Math.Min(used / messages, LargestSample);
            _typical = _typical == 0 ? sample : ((_typical * (AverageOver - 1)) + sample) / AverageOver;
            Vote(isSlow: used > (isAnyWaiting ? SlowTicks : VerySlowTicks) * messages);
        }
    }

    /// <summary>Counts an inline run that lost the event loop as a slow one.</summary>
    public void RecordTakeOver() => Vote(isSlow: true);

    private void Vote(bool isSlow)
    {
        if (!isSlow)
        {
            _votes = Math.Max(0, _votes - 1);
            if (++_fastRuns >= FastRunsToForget)
            {
                _nextPause = FirstPause;
            }

            return;
        }

        _fastRuns = 0;
        _votes += SlowVote;
        if (_votes < VotesForSlow)
        {
            return;
        }

        // If the next trial is slow, that one vote is enough.
        _votes = VotesForSlow - SlowVote;
        _pause = _nextPause;
        _nextPause = Math.Min(_nextPause * 2, LongestPause);
    }
}

/// <summary>The clock of processor time, on which runs of user code are measured.</summary>
internal static class ThreadClock
{
    public const long TicksPerMicrosecond = 1000;

    /// <summary>Nanoseconds since an arbitrary moment of this thread. Reading it is a system call.</summary>
    public static long Now => HostSystem.Current.ThreadTime;
}
