using System.Collections.Concurrent;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// The places of all running calls of a server, if there is a limit for them, and the calls that wait for one:
/// connections take turns, and the calls of a connection begin in their order. It also knows the running calls in whose
/// place a nested call may run. Thread-safe. Calls take its lock only if the limit is set, or if one runs in another's
/// place.
/// </summary>
internal sealed class CallPlaces(ServerLimits limits)
{
    private readonly Gate _lock = new();
    private readonly Dictionary<ServerConnection, LinkedListNode<LinkedList<CallTurn>>> _waiting = [];
    private readonly LinkedList<LinkedList<CallTurn>> _lines = new();    // those of _waiting; the first has its turn
    private readonly List<CallTurn> _waitingNested = []; // of the waiting calls, those that name a parent
    private readonly ConcurrentDictionary<ParentCall, CallTurn> _named = new();
    private readonly ConcurrentDictionary<uint, BufferBudget> _left = new(); // by user
    private int _running;

    public ServerLimits Limits => limits;

    /// <summary>The bytes that all clients make the server keep.</summary>
    public BufferBudget Budget { get; } = new(ServerLimits.BytesOption, limits.Bytes);

    /// <summary>
    /// Returns the budget of the one-way calls that the closed connections of a user have left behind: all together as
    /// much as one connection may make the server keep.
    /// </summary>
    public BufferBudget LeftBy(uint userId) => _left.GetOrAdd(
        userId,
        static (_, places) => new BufferBudget(
            ServerLimits.ConnectionBytesOption, places.Limits.ConnectionBytes, places.Budget),
        this);

    /// <summary>Whether the server has no limit for the calls of all connections.</summary>
    public bool IsUnlimited => limits.Calls is null;

    /// <summary>Takes a place, or the parent's. Returns whether the call may begin.</summary>
    public bool TryTake(CallTurn turn)
    {
        if (IsUnlimited)
        {
            return true;
        }

        using (_lock.Enter())
        {
            return TryTakeLocked(turn);
        }
    }

    /// <summary>Takes a place, or the parent's, or queues the call. Returns whether the call may begin.</summary>
    public bool TryTakeOrWait(CallTurn turn)
    {
        if (IsUnlimited)
        {
            return true;
        }

        using (_lock.Enter())
        {
            if (TryTakeLocked(turn))
            {
                return true;
            }

            if (_waiting.Count == 0)
            {
                LimitEvents.Waited(
                    turn.Call.Settings.Logger,
                    ServerLimits.CallsOption,
                    limits.Calls!.Value,
                    $"calls wait for their turn, the first of {turn.Call.Owner.PeerName}.");
            }

            Add(turn);
            return false;
        }
    }

    /// <summary>Returns the running call of a name, whose place a nested call can take; null if none.</summary>
    public CallTurn? Find(ParentCall name) => _named.GetValueOrDefault(name);

    /// <summary>Makes a running call known, so that a nested call can take its place.</summary>
    public void AddName(CallTurn turn, ParentCall name)
    {
        turn.Name = name;
        Gate.Uninterrupted((_named, name, turn), static add => add._named[add.name] = add.turn);
    }

    /// <summary>Lets a nested call run in its parent's place, one at a time. Returns whether it may begin.</summary>
    public bool TryNest(CallTurn turn)
    {
        if (turn.Parent is null)
        {
            return false;
        }

        using (_lock.Enter())
        {
            turn.IsNested = TryBorrow(turn);
            return turn.IsNested;
        }
    }

    /// <summary>Removes a waiting call, for one of the threads that try. Returns false to the others.</summary>
    public bool TryLeave(CallTurn turn)
    {
        using (_lock.Enter())
        {
            bool isWaiting = _waiting.TryGetValue(turn.Call.Owner, out LinkedListNode<LinkedList<CallTurn>>? line)
                && turn.Node.List == line.Value;
            if (isWaiting)
            {
                Remove(turn);
            }

            return isWaiting;
        }
    }

    /// <summary>Removes all waiting calls of a connection but the one-way ones, and returns them.</summary>
    public List<CallTurn> TakeWaiting(ServerConnection owner)
    {
        using (_lock.Enter())
        {
            List<CallTurn> taken = _waiting.TryGetValue(owner, out LinkedListNode<LinkedList<CallTurn>>? line)
                ? [.. line.Value.Where(static turn => !turn.Call.IsOneWay)]
                : [];
            taken.ForEach(Remove);
            return taken;
        }
    }

    /// <summary>
    /// Ends a call's use of a place, which its running nested call keeps. Begins the calls that then may.
    /// </summary>
    public void OnEnded(CallTurn turn)
    {
        if (turn.Name is not null)
        {
            Gate.Uninterrupted((_named, turn.Name), static end => end._named.TryRemove(end.Name, out _));

            // StoreLoad: the name is gone before this thread looks for a borrower. One that borrows the place says so
            // before it looks for the name once more.
            Interlocked.MemoryBarrier();
        }

        if (IsUnlimited && turn.Borrower is null && turn.Lender is null && !turn.IsNested)
        {
            return;
        }

        List<CallTurn> next;
        using (_lock.Enter())
        {
            if (turn.Borrower is { } nested)
            {
                PassOn(turn, nested);
            }
            else if (turn.Lender is { } lender)
            {
                lender.Borrower = null;
            }

            turn.Lender = null;
            Unnest(turn);
            _running -= turn.HasPlace ? 1 : 0;
            turn.HasPlace = false;
            next = TakeNext();
        }

        next.ForEach(one => one.Call.Owner.Queue.BeginQueued(one));
    }

    // Under the lock: the nested call of an ending one goes on in the place where that one ran.
    private static void PassOn(CallTurn ending, CallTurn nested)
    {
        if (!ending.IsNested)
        {
            Unnest(nested);
        }

        nested.Lender = ending.Lender;
        if (ending.Lender is { } lender)
        {
            lender.Borrower = nested;
        }

        nested.HasPlace |= ending.HasPlace;
        ending.HasPlace = false;
        ending.Borrower = null;
    }

    // Under the lock.
    private List<CallTurn> TakeNext()
    {
        var next = new List<CallTurn>();
        while (_lines.First is { } line && _running < limits.Calls)
        {
            TakeOut(line.Value.First!.Value);
            if (line.List is not null)
            {
                _lines.Remove(line);
                _lines.AddLast(line);
            }
        }

        // A nested call whose parent's place is free need not wait for the calls before it.
        while (_waitingNested.Find(TryBorrow) is { } nested)
        {
            TakeOut(nested);
        }

        return next;

        void TakeOut(CallTurn turn)
        {
            Remove(turn);
            TakePlaceUnlessLent(turn);
            next.Add(turn);
        }
    }

    // Under the lock.
    private void Add(CallTurn turn)
    {
        if (!_waiting.TryGetValue(turn.Call.Owner, out LinkedListNode<LinkedList<CallTurn>>? line))
        {
            line = _lines.AddLast(new LinkedList<CallTurn>());
            _waiting.Add(turn.Call.Owner, line);
        }

        line.Value.AddLast(turn.Node);
        if (turn.Parent is not null)
        {
            _waitingNested.Add(turn);
        }
    }

    // Under the lock.
    private void Remove(CallTurn turn)
    {
        LinkedListNode<LinkedList<CallTurn>> line = _waiting[turn.Call.Owner];
        line.Value.Remove(turn.Node);
        if (line.Value.Count == 0)
        {
            _lines.Remove(line);
            _waiting.Remove(turn.Call.Owner);
        }

        if (turn.Parent is not null)
        {
            _waitingNested.Remove(turn);
        }
    }

    // Under the lock.
    private bool TryTakeLocked(CallTurn turn)
    {
        if ((_waiting.Count > 0 || _running >= limits.Calls) && !TryBorrow(turn))
        {
            return false;
        }

        TakePlaceUnlessLent(turn);
        return true;
    }

    // Under the lock.
    private void TakePlaceUnlessLent(CallTurn turn)
    {
        if (turn.Lender is null)
        {
            turn.HasPlace = true;
            _running++;
        }
    }

    // Under the lock.
    private bool TryBorrow(CallTurn turn)
    {
        if (turn.Parent is null
            || !_named.TryGetValue(turn.Parent, out CallTurn? lender)
            || lender.Borrower is not null)
        {
            return false;
        }

        lender.Borrower = turn;
        Interlocked.MemoryBarrier(); // StoreLoad, as in OnEnded
        if (!_named.ContainsKey(turn.Parent))
        {
            lender.Borrower = null;
            return false;
        }

        turn.Lender = lender;
        return true;
    }

    // Under the lock.
    private static void Unnest(CallTurn turn)
    {
        if (turn.IsNested)
        {
            turn.IsNested = false;
            turn.Call.Owner.Queue.CountNested(-1);
        }
    }
}
