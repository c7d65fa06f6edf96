using RpcOverShm.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// Lets a number of calls in at a time: those of a connection, a server, an ordered service or an instance. The others
/// wait in lanes, one for each connection, which have their turns. In a lane, calls of chains and those that wait again
/// are first; at an instance they are before all lanes. A call of a chain passes a full gate in the name of a running
/// call in front of it, one at a time for each such name. So at most the limit, times 1 and the depth of chains, is
/// inside; at a connection's gate more, if calls of other connections are in front. Thread-safe.
/// <para>
/// tests/Model/call_gate.py has the rules under these names. <i>Enter</i>: without the lock, only while nobody waits
/// and a place is free, which is one comparison of the word; so nobody else adds to the word while a call waits and the
/// lock is held (<c>enter_looks_for_waiters</c>, <c>wait_is_compared</c>). <i>Leave</i>: without the lock, unless a
/// call passed or was named by one that did (<c>lent_name_takes_lock</c>). <i>Pass</i>: <see cref="TryPass"/>. Calls
/// that were let in go on outside the lock, and no other gate's lock is taken under it. Those at an instance are told
/// under it; they go on elsewhere.
/// </para>
/// </summary>
/// <param name="limit">The calls inside at a time; null for any number, which costs nothing.</param>
/// <param name="isOfInstance">Whether a name is good only while its call is inside of this gate.</param>
internal sealed partial class CallGate(int? limit, bool isOfInstance = false)
{
    private const long OneInside = 1;
    private const long OneWaiting = 1L << 32;

    // The calls that are let in at a time while something may hold calls back: more than one, so that the running ones
    // become as many as may run; few, so that their answers count before the next ones begin.
    private const int MostPerEvent = 2;

    private readonly Gate _lock = new();
    private readonly GateLane _first = new(key: null);       // of an instance
    private readonly LinkedList<GateLane> _lanes = new();    // the first has its turn
    private Dictionary<object, GateLane>? _laneOf;
    private Dictionary<RunningCall, LinkedList<GateTicket>>? _chains; // the calls of chains that wait, by their parent
    private long _word; // the calls inside, and above them those that wait

    public bool IsUnlimited => limit is null;

    /// <summary>The calls inside. Concurrent changes may be missing.</summary>
    public int Inside => (int)(Volatile.Read(ref _word) % OneWaiting);

    /// <summary>The calls that wait.</summary>
    public int Waiting => (int)(Volatile.Read(ref _word) / OneWaiting);

    /// <summary>Whether something but the limit keeps calls out; those of chains pass. Null for nothing.</summary>
    public Func<bool>? IsHeld { get; init; }

    /// <summary>Has <see cref="LetIn"/> called later: some were let in, and there may be places for more.</summary>
    public Action? LetInLater { get; init; }

    /// <summary>Enters if nobody waits and a place is free. The caller has looked at <see cref="IsHeld"/>.</summary>
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

    /// <summary>Enters or passes, if the call may without waiting.</summary>
    public bool TryEnter(GateTicket ticket)
    {
        if (IsHeld?.Invoke() != true && TryEnter())
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
            return TryPass(ticket);
        }
    }

    /// <summary>Enters or passes, or waits. Returns whether the call is inside; null if too many wait.</summary>
    /// <param name="ticket">The call.</param>
    /// <param name="mostInLanes">The calls that may wait at an instance, beside those before all lanes.</param>
    public bool? EnterOrWait(GateTicket ticket, int mostInLanes = int.MaxValue)
    {
        using (_lock.Enter())
        {
            long word = Volatile.Read(ref _word);
            while (true)
            {
                bool isFree = word < limit && IsHeld?.Invoke() != true;
                if (!isFree && TryPass(ticket))
                {
                    return true;
                }

                if (!isFree && ticket.Parent is null && (word / OneWaiting) - _first.Calls.Count >= mostInLanes)
                {
                    return null;
                }

                long seen = Interlocked.CompareExchange(ref _word, word + (isFree ? OneInside : OneWaiting), word);
                if (seen == word && isFree)
                {
                    ticket.State = GateState.Inside;
                    return true;
                }

                if (seen == word)
                {
                    Add(ticket, isFirst: ticket.Parent is not null);
                    break;
                }

                word = seen;
            }
        }

        LookAgain();
        return false;
    }

    /// <summary>
    /// Has a call that is inside, but has not begun, pass as calls of chains do. Returns false if it can't.
    /// </summary>
    public bool TryPassInside(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            bool hasPassed = TryPass(ticket);
            Interlocked.Add(ref _word, hasPassed ? -OneInside : 0); // It is counted once.
            return hasPassed;
        }
    }

    /// <summary>Has a call that is inside, but has not begun, wait again, before those that came later.</summary>
    public void WaitAgain(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            Interlocked.Add(ref _word, OneWaiting - OneInside);
            Add(ticket, isFirst: true);
        }

        LookAgain();
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

    /// <summary>Leaves, and lets in who may. The name of the call was taken back before.</summary>
    /// <param name="ticket">The call's ticket; null if it needed none.</param>
    /// <param name="name">The call as those know it that may have passed in its name; null if nobody knows it.</param>
    public void Leave(GateTicket? ticket = null, RunningCall? name = null)
    {
        if (limit is null)
        {
            return;
        }

        if (ticket is { HasPassed: true } || name is { IsLent: true })
        {
            using (_lock.Enter())
            {
                HandOn(ticket, name);
                Interlocked.Decrement(ref _word);
            }

            LetIn(mayPass: true);
        }
        else if (Interlocked.Decrement(ref _word) >= OneWaiting)
        {
            LetIn();
        }
    }

    /// <summary>Lets in the first calls that wait, if they may.</summary>
    /// <param name="mayPass">Whether a name may have become free in which one of a chain passes.</param>
    public void LetIn(bool mayPass = false)
    {
        if (Waiting == 0)
        {
            return; // One that waits later changes the word after this thread, and sees what it has made free.
        }

        HashSet<RunningCall>? stuck = mayPass && _chains is not null ? [] : null;
        for (int granted = 0; IsHeld is null || granted < MostPerEvent; granted++)
        {
            GateTicket? next;
            using (_lock.Enter())
            {
                next = TakeNext(stuck);
                if (isOfInstance)
                {
                    // Under the lock, because such a call may let go and wait again with the same ticket.
                    next?.OnGranted();
                    stuck?.Clear(); // Others may pass in its name.
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

    // StoreLoad: the call waits before this thread looks at what holds calls back. Who ends that looks for waiting
    // calls afterwards (budget_is_looked_at_again).
    private void LookAgain()
    {
        if (IsHeld is null)
        {
            return;
        }

        Interlocked.MemoryBarrier();
        if (!IsHeld())
        {
            LetIn();
        }
    }

    // Under the lock: nobody else adds to the word while a call waits. A call passes only if there is a set for those
    // in whose chains none can.
    private GateTicket? TakeNext(HashSet<RunningCall>? stuck)
    {
        if (Waiting == 0)
        {
            return null;
        }

        GateTicket? next;
        if (Inside < limit && IsHeld?.Invoke() != true)
        {
            next = TakeTurn();
            Interlocked.Add(ref _word, OneInside);
            next.State = GateState.Inside;
        }
        else
        {
            next = stuck is null ? null : PassNext(stuck);
        }

        if (next is not null)
        {
            Remove(next);
        }

        return next;
    }

    // Under the lock: calls of one parent pass in the same names, so only the first of them is tried.
    private GateTicket? PassNext(HashSet<RunningCall> stuck)
    {
        foreach ((RunningCall parent, LinkedList<GateTicket> calls) in _chains!)
        {
            if (!stuck.Contains(parent))
            {
                GateTicket first = calls.First!.Value;
                if (TryPass(first))
                {
                    return first;
                }

                stuck.Add(parent);
            }
        }

        return null;
    }

    // Under the lock: the lane that is served has its next turn after the others.
    private GateTicket TakeTurn()
    {
        if (_first.Calls.First is { } first)
        {
            return first.Value;
        }

        LinkedListNode<GateLane> lane = _lanes.First!;
        _lanes.RemoveFirst();
        _lanes.AddLast(lane);
        return lane.Value.Calls.First!.Value;
    }

    // Under the lock.
    private void Add(GateTicket ticket, bool isFirst)
    {
        ticket.State = GateState.Waiting;
        ticket.Gate = this;
        GateLane lane = _first;
        if (!isFirst || !isOfInstance)
        {
            lane = (_laneOf ??= []).GetValueOrDefault(ticket.Lane) ?? new GateLane(ticket.Lane);
            if (lane.Calls.Count == 0)
            {
                _laneOf.Add(ticket.Lane, lane);
                _lanes.AddLast(lane.Node);
            }
        }

        lane.Add(ticket, isFirst);
        if (ticket.Parent is { } parent)
        {
            if (!(_chains ??= []).TryGetValue(parent, out LinkedList<GateTicket>? calls))
            {
                _chains.Add(parent, calls = new LinkedList<GateTicket>());
            }

            calls.AddLast(ticket.InChain);
        }
    }

    // Under the lock. A call that has gone on to another gate waits at that one.
    private bool Remove(GateTicket ticket)
    {
        if (ticket.Waits is not { } lane || (lane != _first && _laneOf?.GetValueOrDefault(lane.Key!) != lane))
        {
            return false;
        }

        lane.Remove(ticket);
        Interlocked.Add(ref _word, -OneWaiting);
        if (lane != _first && lane.Calls.Count == 0)
        {
            _lanes.Remove(lane.Node);
            _laneOf!.Remove(lane.Key!);
        }

        if (ticket.Parent is { } parent)
        {
            LinkedList<GateTicket> calls = ticket.InChain.List!;
            calls.Remove(ticket.InChain);
            if (calls.Count == 0)
            {
                _chains!.Remove(parent);
            }
        }

        return true;
    }
}
