using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>The blocking callers of one connection that sleep while another thread reads. Thread-safe.</summary>
internal sealed class SleepingCallers
{
    private readonly List<AutoResetLatch> _waiters = [];
    private readonly Gate _gate = new();

    public void Add(AutoResetLatch waiter)
    {
        using (_gate.Enter())
        {
            _waiters.Add(waiter);
        }
    }

    public void Remove(AutoResetLatch waiter)
    {
        using (_gate.Enter())
        {
            _waiters.Remove(waiter);
        }
    }

    /// <summary>
    /// Signals one caller when the role is free. That caller takes the role, or leaves and then signals the next one.
    /// Signalling all callers would wake many threads for the work of one. The caller that arrived last is signalled,
    /// because its caches are warmest.
    /// </summary>
    public void SignalOne()
    {
        using (_gate.Enter())
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
        using (_gate.Enter())
        {
            foreach (AutoResetLatch waiter in _waiters)
            {
                waiter.Signal();
            }
        }
    }
}
