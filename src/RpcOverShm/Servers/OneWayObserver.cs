using System.Diagnostics.CodeAnalysis;
using RpcOverShm.Diagnostics;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// Hands the failures of one-way calls to the user on the thread pool, one after the other: slow handlers occupy one
/// thread of the pool. What waits is bounded by the credit of the calls. Thread-safe.
/// </summary>
internal abstract class OneWayObserver
{
    private readonly Gate _gate = new();
    private readonly Queue<(OneWayFailure Failure, OneWayCharge Charge)> _pending = new();
    private bool _isRunning;

    public abstract bool HasHandlers { get; }

    /// <summary>Queues a failure. The call holds its credit until its handlers have returned.</summary>
    public void Add(OneWayFailure failure, OneWayCharge charge)
    {
        charge.Hold();
        using (_gate.Enter())
        {
            _pending.Enqueue((failure, charge));
            if (_isRunning)
            {
                return;
            }

            _isRunning = true;
        }

        PoolWork.Queue(static observer => observer.RunAll(), this);
    }

    /// <summary>Runs the handlers. Does not throw.</summary>
    protected abstract void OnFailed(OneWayFailure failure);

    private void RunAll()
    {
        while (TryTake(out OneWayFailure? failure, out OneWayCharge? charge))
        {
            OnFailed(failure);
            charge.End();
        }
    }

    private bool TryTake(
        [NotNullWhen(true)] out OneWayFailure? failure, [NotNullWhen(true)] out OneWayCharge? charge)
    {
        using (_gate.Enter())
        {
            _isRunning = _pending.TryDequeue(out (OneWayFailure Failure, OneWayCharge Charge) next);
            (failure, charge) = next;
            return _isRunning;
        }
    }
}
