using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// The threads that may take the place of a connection's reader: at most one waits idle, others are started when they
/// are wanted. Any thread may call.
/// </summary>
internal sealed class SpareThreads(Func<bool> tryStartThread)
{
    private const int MostIdle = 1;

    private readonly object _gate = new();
    private int _idle;    // threads that wait and are not wanted yet
    private int _wanted;  // places that are to be taken by threads that wait
    private int _unfilled; // places for which no thread could be started
    private bool _isClosed;

    /// <summary>A place is to be taken: wakes a thread that waits, or starts one.</summary>
    public void Bring()
    {
        lock (_gate)
        {
            if (_idle > 0)
            {
                // One is counted out here, not when it wakes: another that comes to wait meanwhile is not the one.
                _idle--;
                _wanted++;
                Monitor.Pulse(_gate);
                return;
            }
        }

        if (!tryStartThread())
        {
            // The thread that user code keeps takes the place when it comes back.
            lock (_gate)
            {
                _unfilled++;
            }
        }
    }

    /// <summary>Waits until a place is to be taken (true). False when the thread is not needed: it goes home.</summary>
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
            while (_wanted == 0 && !_isClosed)
            {
                Monitor.Wait(_gate, WaitBounds.SafetyTimeout);
            }

            if (_wanted == 0)
            {
                return false;
            }

            _wanted--;
            return true;
        }
    }

    /// <summary>
    /// Sends home whoever waits idle. A place is still taken when it is to be: somebody must end the reading.
    /// </summary>
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
