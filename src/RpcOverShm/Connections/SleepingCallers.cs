using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>The blocking callers of one connection that sleep while another thread reads. Thread-safe.</summary>
internal sealed class SleepingCallers
{
    private const int MostLookedAt = 16;

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
    /// Signals one caller when the role is free, unless one is waking up already, such as one whose answer has come.
    /// Either one takes the role, or leaves and then checks for other sleepers. Signalling more would wake threads for
    /// the work of one. The last one to arrive has the warmest caches.
    /// </summary>
    public void SignalOne()
    {
        AutoResetLatch last;
        using (_gate.Enter())
        {
            if (_waiters.Count == 0)
            {
                return;
            }

            // Of many only the last ones: a needless signal costs less than the look at a thousand.
            for (int i = _waiters.Count - 1; i >= Math.Max(0, _waiters.Count - MostLookedAt); i--)
            {
                if (_waiters[i].IsSignalled)
                {
                    return;
                }
            }

            last = _waiters[^1];
        }

        // Outside the gate, which the caller takes first when it wakes up.
        last.Signal();
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
