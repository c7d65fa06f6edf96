namespace RpcOverShm.Connections;

/// <summary>
/// The blocking callers of one connection that sleep while another thread reads. Any thread may call.
/// </summary>
internal sealed class SleepingCallers
{
    private readonly List<WakeLatch> _waiters = [];

    public void Add(WakeLatch waiter)
    {
        lock (_waiters)
        {
            _waiters.Add(waiter);
        }
    }

    public void Remove(WakeLatch waiter)
    {
        lock (_waiters)
        {
            _waiters.Remove(waiter);
        }
    }

    /// <summary>Signals all: each looks whether it can read, and all but one go back to sleep.</summary>
    public void SignalAll()
    {
        lock (_waiters)
        {
            foreach (WakeLatch waiter in _waiters)
            {
                waiter.Signal();
            }
        }
    }
}
