using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// The threads that may take the place of a connection's standby reader. At most one waits idle; others start on
/// request. Thread-safe.
/// </summary>
internal sealed class SpareThreads(Func<bool> tryStartThread)
{
    private const int MostIdle = 1;

    private readonly object _gate = new();
    private int _idle;    // waiting threads that no request has claimed
    private int _requested;  // requests that a waiting thread will take
    private int _unfilled; // requests for which no thread could start
    private bool _isClosed;

    /// <summary>Requests a replacement for the standby reader: wakes an idle thread, or starts one.</summary>
    public void Bring()
    {
        lock (_gate)
        {
            if (_idle > 0)
            {
                // Counted here and not at the wake-up: another thread may come to wait before the woken one runs.
                _idle--;
                _requested++;
                Monitor.Pulse(_gate);
                return;
            }
        }

        if (!tryStartThread())
        {
            // The thread that is stuck in user code takes the place when it returns.
            lock (_gate)
            {
                _unfilled++;
            }
        }
    }

    /// <summary>Waits until this thread is requested. Returns false if it is not needed and must exit.</summary>
    public bool WaitUntilRequested()
    {
        lock (_gate)
        {
            if (_unfilled > 0)
            {
                _unfilled--;
                return true;
            }

            if (_isClosed || _idle >= MostIdle)
            {
                return false;
            }

            _idle++;
            while (_requested == 0 && !_isClosed)
            {
                Monitor.Wait(_gate, WaitBounds.SafetyTimeout);
            }

            if (_requested == 0)
            {
                return false;
            }

            _requested--;
            return true;
        }
    }

    /// <summary>Lets idle threads exit. Pending requests are served: one thread must end the reading side.</summary>
    public void Close()
    {
        lock (_gate)
        {
            _isClosed = true;
            _idle = 0;
            Monitor.PulseAll(_gate);
        }
    }
}
