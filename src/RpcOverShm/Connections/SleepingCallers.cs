using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// The blocking callers of one connection that sleep while another thread reads. Any thread may call.
/// </summary>
internal sealed class SleepingCallers
{
    private readonly List<AutoResetLatch> _waiters = [];

    public void Add(AutoResetLatch waiter)
    {
        lock (_waiters)
        {
            _waiters.Add(waiter);
        }
    }

    public void Remove(AutoResetLatch waiter)
    {
        lock (_waiters)
        {
            _waiters.Remove(waiter);
        }
    }

    /// <summary>
    /// The role is free: signals one, which takes it, or is about to leave and then looks who else sleeps. To signal
    /// all would wake many threads for what one of them can do. The last one to come has the warmest caches.
    /// </summary>
    public void SignalOne()
    {
        lock (_waiters)
        {
            if (_waiters.Count > 0)
            {
                _waiters[^1].Signal();
            }
        }
    }

    /// <summary>Signals all: something has happened that concerns each.</summary>
    public void SignalAll()
    {
        lock (_waiters)
        {
            foreach (AutoResetLatch waiter in _waiters)
            {
                waiter.Signal();
            }
        }
    }
}
