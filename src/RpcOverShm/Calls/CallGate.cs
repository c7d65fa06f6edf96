using RpcOverShm.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// Limits how many calls run at a time: of a connection, a server, an ordered service (one) or a service instance.
/// Other calls wait in lanes, one for each connection, served in turn. In a lane, calls of chains and those that wait
/// again come first; at an instance they come before all lanes. Thread-safe.
/// <para>
/// If no place is free, a call of a chain borrows the place of a running call in front of it, so that a method cannot
/// deadlock with its own callbacks. A place is lent to one call at a time. At most the limit, times 1 + the depth of
/// chains, are inside; at a connection's gate more, if a lender came on another connection.
/// </para>
/// <para>
/// tests/Model/call_gate.py is a model; the names of its rules stand in brackets. A call enters without the lock only
/// if none waits and a place is free, by one compare-and-swap. So while a call waits, only the holder of the lock adds
/// to the word (<c>enter_looks_for_waiters</c>, <c>wait_is_compared</c>). A call leaves without the lock unless it has
/// borrowed a place or may have lent its own (<c>lent_place_takes_lock</c>). No other gate's lock is taken under it.
/// </para>
/// </summary>
/// <param name="limit">The calls inside at a time; null for any number, which costs nothing.</param>
/// <param name="isOfInstance">
/// Whether this is the gate of a service instance, whose calls lend their places only while they are inside.
/// </param>
internal sealed partial class CallGate(int? limit, bool isOfInstance = false)
{
    private const long OneInside = 1;
    private const long OneWaiting = 1L << 32;

    // The calls that are let in at a time while something may hold calls back: more than one, so that the running ones
    // become as many as may run; few, so that their answers count before the next ones begin.
    private const int MaxGrantsPerEvent = 2;

    private readonly UninterruptibleLock _lock = new();
    private readonly GateLane _priorityLane = new(key: null); // of an instance
    private readonly LinkedList<GateLane> _lanes = new();     // the first has its turn
    private Dictionary<object, GateLane>? _laneOf;
    private Dictionary<RunningCall, LinkedList<GateTicket>>? _chains; // the calls of chains that wait, by their parent
    private long _word; // the calls inside, and above them those that wait

    public bool IsUnlimited => limit is null;

    /// <summary>The calls inside. Concurrent changes may be missing.</summary>
    public int Inside => (int)(Volatile.Read(ref _word) % OneWaiting);

    /// <summary>The calls that wait.</summary>
    public int Waiting => (int)(Volatile.Read(ref _word) / OneWaiting);

    /// <summary>
    /// Whether something other than the limit keeps calls out, except those that borrow a place; null for nothing.
    /// </summary>
    public Func<bool>? IsPaused { get; init; }

    /// <summary>Schedules another <see cref="LetIn"/>, after one has let in as many as it may.</summary>
    public Action? LetInLater { get; init; }

    /// <summary>Enters if nobody waits and a place is free. The caller has looked at <see cref="IsPaused"/>.</summary>
    public bool TryEnter()
    {
        if (limit is null)
        {
            return true;
        }

        long word = Volatile.Read(ref _word);
        while (word < limit)
        {
            long seen = Interlocked.CompareExchange(ref _word, word + OneInside, word);
            if (seen == word)
            {
                return true;
            }

            word = seen;
        }

        return false;
    }

    /// <summary>Enters or borrows a place, if the call may without waiting.</summary>
    public bool TryEnter(GateTicket ticket)
    {
        if (IsPaused?.Invoke() != true && TryEnter())
        {
            ticket.State = GateState.Inside;
            return true;
        }

        if (ticket.Parent is null)
        {
            return false;
        }

        using (_lock.Enter())
        {
            return TryBorrow(ticket);
        }
    }

    /// <summary>Enters, borrows a place, or waits.</summary>
    /// <param name="ticket">The call.</param>
    /// <param name="maxWaiting">The calls that may wait in the lane; calls of chains may always wait.</param>
    public GateResult EnterOrWait(GateTicket ticket, int maxWaiting = int.MaxValue)
    {
        using (_lock.Enter())
        {
            long word = Volatile.Read(ref _word);
            while (true)
            {
                bool isFree = word < limit && IsPaused?.Invoke() != true;
                if (!isFree && TryBorrow(ticket))
                {
                    return GateResult.Inside;
                }

                if (!isFree && ticket.Parent is null && WaitingInLane(ticket.LaneKey) >= maxWaiting)
                {
                    return GateResult.Full;
                }

                long seen = Interlocked.CompareExchange(ref _word, word + (isFree ? OneInside : OneWaiting), word);
                if (seen == word && isFree)
                {
                    ticket.State = GateState.Inside;
                    return GateResult.Inside;
                }

                if (seen == word)
                {
                    Add(ticket, hasPriority: ticket.Parent is not null);
                    break;
                }

                word = seen;
            }
        }

        LetInIfNotPaused();
        return GateResult.Waiting;
    }

    /// <summary>
    /// Has a call that is inside, but has not begun, borrow a place instead. Returns false if it can't.
    /// </summary>
    public bool TryBorrowInside(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            bool hasBorrowed = TryBorrow(ticket);
            Interlocked.Add(ref _word, hasBorrowed ? -OneInside : 0); // It is counted once.
            return hasBorrowed;
        }
    }

    /// <summary>Has a call that is inside, but has not begun, wait again, before those that came later.</summary>
    public void WaitAgain(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            Interlocked.Add(ref _word, OneWaiting - OneInside);
            Add(ticket, hasPriority: true);
        }

        LetInIfNotPaused();
    }

    /// <summary>Removes a waiting call, for one of the threads that try. Returns false to the others.</summary>
    public bool TryTakeOut(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            return Remove(ticket);
        }
    }

    /// <summary>Removes the waiting calls of a lane that are chosen, and returns them.</summary>
    public List<GateTicket> TakeOut(object lane, Predicate<GateTicket> isChosen)
    {
        using (_lock.Enter())
        {
            List<GateTicket> taken = _laneOf?.TryGetValue(lane, out GateLane? of) == true
                ? [.. of.Calls.Where(one => isChosen(one))]
                : [];
            taken.ForEach(one => Remove(one));
            return taken;
        }
    }

    /// <summary>Leaves the gate and lets waiting calls in. The running call was ended before.</summary>
    /// <param name="ticket">The call's ticket; null if it needed none.</param>
    /// <param name="running">The call as a lender of its place; null if it can be none.</param>
    public void Leave(GateTicket? ticket = null, RunningCall? running = null)
    {
        if (limit is null)
        {
            return;
        }

        if (ticket is { HasBorrowed: true } || running is { IsLent: true })
        {
            using (_lock.Enter())
            {
                ReturnLoan(ticket, running);
                Interlocked.Decrement(ref _word);
            }

            LetIn(mayBorrow: true);
        }
        else if (Interlocked.Decrement(ref _word) >= OneWaiting)
        {
            LetIn();
        }
    }

    /// <summary>Lets in the first calls that wait, if they may.</summary>
    /// <param name="mayBorrow">Whether a place may have become free that a call of a chain borrows.</param>
    public void LetIn(bool mayBorrow = false)
    {
        if (Waiting == 0)
        {
            return; // One that waits later changes the word after this thread, and sees what it has made free.
        }

        HashSet<RunningCall>? withoutLender = mayBorrow && _chains is not null ? [] : null;
        for (int granted = 0; IsPaused is null || granted < MaxGrantsPerEvent; granted++)
        {
            GateTicket? next;
            using (_lock.Enter())
            {
                next = TakeNext(withoutLender);
                if (isOfInstance)
                {
                    // Under the lock, because such a call may yield and wait again with the same ticket.
                    next?.OnGranted();
                    withoutLender?.Clear(); // It may be the lender of others.
                }
            }

            if (next is null)
            {
                return;
            }

            if (!isOfInstance)
            {
                next.OnGranted();
            }
        }

        if (Waiting > 0)
        {
            LetInLater!();
        }
    }

    // StoreLoad: the call is counted as waiting before this thread reads IsPaused. A thread that ends the pause looks
    // for waiting calls afterwards (budget_is_looked_at_again).
    private void LetInIfNotPaused()
    {
        if (IsPaused is null)
        {
            return;
        }

        Interlocked.MemoryBarrier();
        if (!IsPaused())
        {
            LetIn();
        }
    }

    // Under the lock: nobody else adds to the word while a call waits. A call borrows a place only if there is a set,
    // which notes the parents in whose chains nobody lends one.
    private GateTicket? TakeNext(HashSet<RunningCall>? withoutLender)
    {
        if (Waiting == 0)
        {
            return null;
        }

        GateTicket? next;
        if (Inside < limit && IsPaused?.Invoke() != true)
        {
            next = TakeTurn();
            Interlocked.Add(ref _word, OneInside);
            next.State = GateState.Inside;
        }
        else
        {
            next = withoutLender is null ? null : LendNext(withoutLender);
        }

        if (next is not null)
        {
            Remove(next);
        }

        return next;
    }

    // Under the lock: calls of one parent have the same lenders, so only the first of them is tried.
    private GateTicket? LendNext(HashSet<RunningCall> withoutLender)
    {
        foreach ((RunningCall parent, LinkedList<GateTicket> calls) in _chains!)
        {
            if (!withoutLender.Contains(parent))
            {
                GateTicket first = calls.First!.Value;
                if (TryBorrow(first))
                {
                    return first;
                }

                withoutLender.Add(parent);
            }
        }

        return null;
    }

    // Under the lock.
    private int WaitingInLane(object key) => _laneOf?.GetValueOrDefault(key)?.Calls.Count ?? 0;

    // Under the lock: the lane that is served has its next turn after the others.
    private GateTicket TakeTurn()
    {
        if (_priorityLane.Calls.First is { } first)
        {
            return first.Value;
        }

        LinkedListNode<GateLane> lane = _lanes.First!;
        _lanes.RemoveFirst();
        _lanes.AddLast(lane);
        return lane.Value.Calls.First!.Value;
    }

    // Under the lock.
    private void Add(GateTicket ticket, bool hasPriority)
    {
        ticket.State = GateState.Waiting;
        ticket.Gate = this;
        GateLane lane = _priorityLane;
        if (!hasPriority || !isOfInstance)
        {
            lane = (_laneOf ??= []).GetValueOrDefault(ticket.LaneKey) ?? new GateLane(ticket.LaneKey);
            if (lane.Calls.Count == 0)
            {
                _laneOf.Add(ticket.LaneKey, lane);
                _lanes.AddLast(lane.Node);
            }
        }

        lane.Add(ticket, hasPriority);
        if (ticket.Parent is { } parent)
        {
            if (!(_chains ??= []).TryGetValue(parent, out LinkedList<GateTicket>? calls))
            {
                _chains.Add(parent, calls = new LinkedList<GateTicket>());
            }

            calls.AddLast(ticket.ChainNode);
        }
    }

    // Under the lock. A call that has gone on to another gate waits at that one.
    private bool Remove(GateTicket ticket)
    {
        if (ticket.Lane is not { } lane || (lane != _priorityLane && _laneOf?.GetValueOrDefault(lane.Key!) != lane))
        {
            return false;
        }

        lane.Remove(ticket);
        Interlocked.Add(ref _word, -OneWaiting);
        if (lane != _priorityLane && lane.Calls.Count == 0)
        {
            _lanes.Remove(lane.Node);
            _laneOf!.Remove(lane.Key!);
        }

        if (ticket.Parent is { } parent)
        {
            LinkedList<GateTicket> calls = ticket.ChainNode.List!;
            calls.Remove(ticket.ChainNode);
            if (calls.Count == 0)
            {
                _chains!.Remove(parent);
            }
        }

        return true;
    }
}
