using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The threads of an event loop: one runs it, and a spare takes it over if user code keeps that one, as the watchdog
/// finds out.
/// </summary>
internal sealed partial class EventLoop
{
    /// <summary>Takes the loop over from a thread, unless it is back from that run of user code.</summary>
    internal void TakeOver(LoopThread thread, long run)
    {
        SpareThreads spares;
        using (_lock.Enter())
        {
            if (_thread != thread || thread.HasLostLoop || !thread.TryWant(run))
            {
                return;
            }

            thread.HasLostLoop = true;
            _thread = null;
            spares = _spares!;
            Interlocked.Increment(ref _stuck);
        }

        ProcessCounts.TakeOvers.Add();

        _current?.OnTakeOverStarting();
        spares.RequestThread();
    }

    // The caller holds the lock.
    private string? TryStart()
    {
        EventPoll? poll = HostSystem.Current.TryCreatePoll(isDoor);
        if (poll is null)
        {
            return "The process may open no more descriptors: raise the limit of open files (ulimit -n).";
        }

        var spares = new SpareThreads(
            these => TryStartThread(these, asSpare: true), these => RunThread(these, asSpare: true));
        (_poll, _spares) = (poll, spares);
        _isSleeping = 0;
        bool isStarted = false;
        try
        {
            isStarted = TryStartThread(spares, asSpare: false);
        }
        finally
        {
            // Also without memory for the thread: a later source must not find a loop that nobody runs.
            if (!isStarted)
            {
                (_poll, _spares) = (null, null);
                poll.Dispose();
            }
        }

        return isStarted
            ? null
            : "No thread could be started: raise the limit of threads or processes (RLIMIT_NPROC, pids.max).";
    }

    // With the default stack size if user code runs on the thread.
    private bool TryStartThread(SpareThreads spares, bool asSpare) => BackgroundThread.TryStart(
        () =>
        {
            AmbientContext.CaptureClean();
            RunThread(spares, asSpare);
        },
        ThreadName,
        isDoor ? DoorStackBytes : 0) is null;

    // The spares are those that the thread was started for. A spare may start late, when its place has been filled and
    // the loop has ended; the loop may even have started again, with spares of its own. All places of the former ones
    // were filled before that end, so such a thread finds none and exits.
    private void RunThread(SpareThreads spares, bool asSpare)
    {
        if (!asSpare || WaitAsSpare(spares))
        {
            do
            {
                var me = new LoopThread(this);
                LoopThread.Current = me;
                if (RunUntilLost(me))
                {
                    spares.Close();
                    break;
                }

                Interlocked.Decrement(ref _stuck);
            }
            while (WaitAsSpare(spares));
        }

        // The thread may be one of the pool.
        LoopThread.Current = null;
    }

    // Debuggers and profilers show the thread's name: only the thread that runs the loop is named so.
    private bool WaitAsSpare(SpareThreads spares)
    {
        Thread me = Thread.CurrentThread;
        me.Name = SpareName;
        if (!spares.WaitUntilRequested(me.IsThreadPoolThread))
        {
            return false;
        }

        me.Name = ThreadName;
        return true;
    }

    private bool TryEnd()
    {
        using (_lock.Enter())
        {
            if (_sources.Count > 0 || _posted is not null)
            {
                return false;
            }

            _poll!.Dispose();
            (_poll, _spares, _thread) = (null, null, null);

            // Else a source that is gone would be kept until the loop runs again.
            _timed.Clear();
            _dueAt = long.MaxValue;
            return true;
        }
    }

    private void EnsureWatched()
    {
        if (Interlocked.Exchange(ref _isWatched, 1) == 0 && !Watchdog.Watch(CheckAsWatchdog))
        {
            _isWatched = 0;
        }
    }

    /// <summary>Runs on the watchdog's thread: takes the loop over from user code that keeps it.</summary>
    private WatchdogCheck CheckAsWatchdog()
    {
        LoopThread? thread = _thread;
        long run = thread?.Run ?? 0;
        if (thread is not null && LoopThread.IsUserCode(run) && _userCode.IsKept(run, thread))
        {
            TakeOver(thread, run);
        }

        if (run != _seenRun)
        {
            _seenRun = run;
            _seenAt = Stopwatch.GetTimestamp();
        }

        bool isQuiet = !LoopThread.IsUserCode(run) && Stopwatch.GetElapsedTime(_seenAt) >= s_quietTime;
        return isQuiet ? StopWatching() : WatchdogCheck.Soon;
    }

    private WatchdogCheck StopWatching()
    {
        // Asymmetric fence: user code that begins after this check sees the flag cleared.
        _isWatched = 0;
        HostSystem.Current.FenceProcess();
        bool isInUserCode = _thread is { } thread && LoopThread.IsUserCode(thread.Run);
        return isInUserCode && Interlocked.Exchange(ref _isWatched, 1) == 0 ? WatchdogCheck.Soon : WatchdogCheck.Done;
    }
}
