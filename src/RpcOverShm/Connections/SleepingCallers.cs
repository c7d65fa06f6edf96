using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>The blocking callers of one connection that sleep while another thread reads. Thread-safe.</summary>
internal sealed class SleepingCallers
{
    private readonly List<AutoResetLatch> _waiters = [];
    private readonly UninterruptibleLock _lock = new();

    public void Add(AutoResetLatch latch)
    {
        using (_lock.Enter())
        {
            _waiters.Add(latch);
        }
    }

    public void Remove(AutoResetLatch latch)
    {
        using (_lock.Enter())
        {
            _waiters.Remove(latch);
        }
    }

    /// <summary>
    /// Signals one caller when the role is free. That caller takes the role, or leaves and then signals the next one.
    /// Signalling all callers would wake many threads for the work of one. The caller that arrived last is signalled,
    /// because its caches are warmest.
    /// </summary>
    public void SignalOne()
    {
        using (_lock.Enter())
        {
            if (_waiters.Count > 0)
            {
                _waiters[^1].Signal();
            }
        }
    }

    /// <summary>Signals all callers, after an event that concerns each of them.</summary>
    public void SignalAll()
    {
        using (_lock.Enter())
        {
            foreach (AutoResetLatch latch in _waiters)
            {
                latch.Signal();
            }
        }
    }
}
