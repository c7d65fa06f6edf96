using RpcOverShm.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The threads that may take an event loop over from user code that keeps it. At most one waits idle; others start on
/// request. If the system has no thread, the first of two takes the place: a thread of the pool, or the one that is
/// stuck in user code and returns. Thread-safe.
/// </summary>
internal sealed class SpareThreads(Func<SpareThreads, bool> tryStartThread, Action<SpareThreads> run)
{
    private const int MostIdle = 1;

    private readonly UninterruptibleLock _lock = new();
    private int _idle;    // waiting threads that no request has claimed
    private int _requested;  // requests that a waiting thread will take
    private int _unfilled; // requests that no thread has taken yet
    private bool _isClosed;

    /// <summary>Requests a thread for the loop: wakes an idle thread, or starts one.</summary>
    public void RequestThread()
    {
        using (_lock.Enter())
        {
            if (_idle > 0)
            {
                // Counted here and not at the wake-up: another thread may come to wait before the woken one runs.
                _idle--;
                _requested++;
                _lock.Pulse();
                return;
            }

            // The place is counted before there is a thread for it: the one that is stuck may return at any time, and
            // then takes it.
            _unfilled++;
        }

        if (!tryStartThread(this))
        {
            PoolWork.Queue(run, this);
        }
    }

    /// <summary>
    /// Waits until this thread is requested. Returns false if it is not needed and must exit. A thread of the pool
    /// takes only a place for which there was no thread, and never waits.
    /// </summary>
    public bool WaitUntilRequested(bool isOfPool)
    {
        using (_lock.Enter())
        {
            if (_unfilled > 0)
            {
                _unfilled--;
                return true;
            }

            if (_isClosed || _idle >= MostIdle || isOfPool)
            {
                return false;
            }

            _idle++;
            while (_requested == 0 && !_isClosed)
            {
                _lock.WaitOnOwnThread(WaitBounds.SafetyTimeout);
            }

            if (_requested == 0)
            {
                return false;
            }

            _requested--;
            return true;
        }
    }

    /// <summary>Lets idle threads exit. Pending requests are served.</summary>
    public void Close()
    {
        using (_lock.Enter())
        {
            _isClosed = true;
            _idle = 0;
            _lock.PulseAll();
        }
    }
}
