namespace RpcOverShm.Scheduling;

/// <summary>
/// Whether one kind of user code (a served method, the continuations of a connection) runs inline on the reading thread
/// or on the thread pool: inline until it proves slow, then on the pool, with a try inline now and then. Slow is what
/// takes much processor time while others wait for the thread, or a great deal of it, or keeps the reader role until it
/// is taken away. Runs vote, so that one outlier makes nothing slow. Only some are timed: that clock is a system call.
/// Any thread may use this; races cost a wrong guess, which the next runs correct.
/// </summary>
internal sealed class InlineBudget
{
    // A hop to the pool costs about 8 µs and wakes a thread; above this the hop no longer matters to the call, and
    // those who wait for the thread are served meanwhile.
    private const int SlowMicroseconds = 50;

    // Where nobody waits the hop helps nobody, and a large message has to come to the pool's processor first: echoing
    // 1 MiB is a quarter faster inline. It is less than what keeps a call waiting that comes meanwhile for long.
    private const int VerySlowMicroseconds = 500;

    // A slow run weighs as much as two fast ones; four more slow runs than that allows make the kind slow.
    private const int SlowVote = 2;
    private const int VotesForSlow = 8;

    // Of how many inline runs one is timed while no vote stands against them.
    private const int TimeEvery = 64;

    // How many runs go to the pool before inline is tried again; doubled each time that it proves slow once more.
    private const int FirstPause = 64;
    private const int LongestPause = 1 << 12;

    private const long SlowTicks = SlowMicroseconds * ThreadClock.TicksPerMicrosecond;
    private const long VerySlowTicks = VerySlowMicroseconds * ThreadClock.TicksPerMicrosecond;

    // How many timed runs in a row must be fast before slowness is forgotten.
    private const int FastRunsToForget = 16;

    private int _votes;
    private int _runs;
    private int _fastRuns;             // timed and fast, since it was last slow
    private int _pause;                // runs that go to the pool before the next try
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
    public long Begin() => _votes > 0 || (_runs++ & (TimeEvery - 1)) == 0 ? ThreadClock.Now : 0;

    /// <summary>Ends an inline run that kept its role, on the same thread.</summary>
    /// <param name="begun">What <see cref="Begin"/> gave.</param>
    /// <param name="messages">How many messages it was for: each may take as long as one by itself.</param>
    /// <param name="isAnyWaiting">True when something came meanwhile that the thread is to read.</param>
    public void End(long begun, int messages, bool isAnyWaiting)
    {
        if (begun != 0)
        {
            Vote(isSlow: ThreadClock.Now - begun > (isAnyWaiting ? SlowTicks : VerySlowTicks) * messages);
        }
    }

    /// <summary>The role was taken from an inline run. It votes as a slow one.</summary>
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

        // The next try votes anew, and one slow run then is enough.
        _votes = VotesForSlow - SlowVote;
        _pause = _nextPause;
        _nextPause = Math.Min(_nextPause * 2, LongestPause);
    }
}
