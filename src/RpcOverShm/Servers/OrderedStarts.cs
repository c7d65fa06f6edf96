using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>
/// Starts the methods of one service for one connection in the order in which their calls came. Each runs until it
/// first awaits something before the next one starts. The holder of the reader role adds calls; any thread runs them.
/// </summary>
internal sealed class OrderedStarts : IThreadPoolWorkItem
{
    private readonly Gate _lock = new();
    private readonly LinkedList<CallTurn> _waiting = new(); // in the order of arrival
    private CallTurn? _starting; // its method has not come to its first await
    private bool _isBeginning;   // a thread runs the method of that call, and looks for the next one afterwards

    /// <summary>Adds a call that has come. Only the holder of the reader role calls this.</summary>
    public void Add(CallTurn turn)
    {
        turn.Order = this;
        using (_lock.Enter())
        {
            turn.OrderNode = _waiting.AddLast(turn);
        }
    }

    /// <summary>Removes a call that has ended before it could start.</summary>
    public void Remove(CallTurn turn)
    {
        bool isNextReady = false;
        using (_lock.Enter())
        {
            if (turn.OrderNode is { List: not null } node)
            {
                isNextReady = _waiting.First == node;
                _waiting.Remove(node);
            }
        }

        if (isNextReady)
        {
            PoolWork.Queue(this);
        }
    }

    /// <summary>
    /// Starts a call that may run now, and those behind it that may, on this thread; or leaves it to the thread that
    /// starts the one before.
    /// </summary>
    public void Start(CallTurn turn)
    {
        using (_lock.Enter())
        {
            turn.IsReady = true;
        }

        StartReady();
    }

    /// <summary>
    /// Notes that a method has come to its first await, or that its call has ended without. Other calls may start.
    /// </summary>
    public void OnStarted(CallTurn turn)
    {
        using (_lock.Enter())
        {
            if (_starting != turn)
            {
                return;
            }

            _starting = null;
            if (_isBeginning || _waiting.First is not { Value.IsReady: true })
            {
                return;
            }
        }

        PoolWork.Queue(this);
    }

    /// <summary>Starts calls. Only the thread pool calls this.</summary>
    public void Execute() => StartReady();

    private void StartReady()
    {
        ThreadTraits thread = ThreadTraits.OfThisThread();
        CallTurn? next = TakeNext(hasBegun: false);
        while (next is not null)
        {
            MethodInvoker.Begin(next.Call, next.Call.Handler);
            AmbientContext.RestoreClean(thread);
            next = TakeNext(hasBegun: true);
        }
    }

    private CallTurn? TakeNext(bool hasBegun)
    {
        using (_lock.Enter())
        {
            _isBeginning &= !hasBegun;
            if (_isBeginning || _starting is not null || _waiting.First is not { Value.IsReady: true } first)
            {
                return null;
            }

            // Not ready before it is put back, because it may at once be started again: that thread waits for the lock.
            first.Value.IsReady = false;
            if (first.Value.Call.TryPutBack())
            {
                return null;
            }

            _waiting.Remove(first);
            _isBeginning = true;
            _starting = first.Value;
            return _starting;
        }
    }
}
