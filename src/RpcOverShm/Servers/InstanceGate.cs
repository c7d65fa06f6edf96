using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <summary>
/// Lets a number of calls run on one instance of a service at a time. Other calls wait without a thread: first those
/// that have begun before, or whose chain has, then the others, each in the order of their arrival. A call of a chain
/// may run in the place of a call in front of it, one at a time. Thread-safe.
/// </summary>
internal sealed class InstanceGate(int limit, int maxQueued)
{
    private readonly Gate _lock = new();
    private readonly LinkedList<InstanceTurn> _waitingBegun = new();
    private readonly LinkedList<InstanceTurn> _waitingNew = new();
    private int _free = limit;

    /// <summary>The calls that have not begun and wait. For tests.</summary>
    internal int Queued
    {
        get
        {
            using (_lock.Enter())
            {
                return _waitingNew.Count;
            }
        }
    }

    /// <summary>
    /// Lets a call begin. Returns a task that completes when it may; null if as many calls wait as may.
    /// </summary>
    public Task? Enter(InstanceTurn turn)
    {
        using (_lock.Enter())
        {
            if (TryTake(turn))
            {
                return Task.CompletedTask;
            }

            bool isOfChain = turn.Above is not null;
            return isOfChain || _waitingNew.Count < maxQueued
                ? Wait(turn, isOfChain ? _waitingBegun : _waitingNew)
                : null;
        }
    }

    /// <summary>Ends a call, whether it waits, runs, or has let go.</summary>
    public void Exit(InstanceTurn turn)
    {
        using (_lock.Enter())
        {
            if (turn.State == InstanceTurnState.Waiting)
            {
                turn.Node.List!.Remove(turn.Node);
                turn.Granted!.TrySetResult();
            }

            bool isInside = turn.State == InstanceTurnState.Inside;
            turn.State = InstanceTurnState.Ended;
            if (isInside)
            {
                GiveUp(turn);
            }
        }
    }

    /// <summary>Lets others run while the method of a running call waits for a callback.</summary>
    public void LetGo(InstanceTurn turn)
    {
        using (_lock.Enter())
        {
            if (turn.State == InstanceTurnState.Inside)
            {
                turn.State = InstanceTurnState.Outside;
                GiveUp(turn);
            }
        }
    }

    /// <summary>Returns a task that completes when a call that has let go may go on.</summary>
    public Task TakeAgainAsync(InstanceTurn turn)
    {
        using (_lock.Enter())
        {
            return turn.State switch
            {
                InstanceTurnState.Waiting => turn.Granted!.Task,
                InstanceTurnState.Outside when !TryTake(turn) => Wait(turn, _waitingBegun),
                _ => Task.CompletedTask,
            };
        }
    }

    // Under the lock. While a place is free, no call waits.
    private bool TryTake(InstanceTurn turn)
    {
        if (_free > 0)
        {
            TakePlace(turn);
            return true;
        }

        return TryBorrow(turn);
    }

    private void TakePlace(InstanceTurn turn)
    {
        _free--;
        turn.HasPlace = true;
        turn.State = InstanceTurnState.Inside;
    }

    private static bool TryBorrow(InstanceTurn turn)
    {
        InstanceTurn? lender = turn.Above;
        while (lender is not null && (lender.State != InstanceTurnState.Inside || lender.Borrower is not null))
        {
            lender = lender.Above;
        }

        if (lender is null)
        {
            return false;
        }

        lender.Borrower = turn;
        turn.Lender = lender;
        turn.State = InstanceTurnState.Inside;
        return true;
    }

    private static Task Wait(InstanceTurn turn, LinkedList<InstanceTurn> line)
    {
        turn.State = InstanceTurnState.Waiting;
        turn.Granted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        line.AddLast(turn.Node);
        return turn.Granted.Task;
    }

    // Under the lock: a call that runs in the place goes on there.
    private void GiveUp(InstanceTurn turn)
    {
        if (turn.Borrower is { } borrower)
        {
            borrower.HasPlace = turn.HasPlace;
            borrower.Lender = turn.Lender;
        }
        else if (turn.HasPlace)
        {
            _free++;
        }

        if (turn.Lender is { } lender)
        {
            lender.Borrower = turn.Borrower;
        }

        turn.Borrower = null;
        turn.Lender = null;
        turn.HasPlace = false;
        LetWaitingIn();
    }

    // Under the lock.
    private void LetWaitingIn()
    {
        while (_free > 0 && (_waitingBegun.First ?? _waitingNew.First) is { } first)
        {
            first.List!.Remove(first);
            TakePlace(first.Value);
            first.Value.Granted!.SetResult();
        }

        LinkedListNode<InstanceTurn>? node = _waitingBegun.First;
        while (node is not null)
        {
            LinkedListNode<InstanceTurn>? next = node.Next;
            if (TryBorrow(node.Value))
            {
                _waitingBegun.Remove(node);
                node.Value.Granted!.SetResult();
            }

            node = next;
        }
    }
}
