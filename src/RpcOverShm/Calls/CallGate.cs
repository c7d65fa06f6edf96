using RpcOverShm.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// Lets a number of calls in at a time: those of a connection, a server, an ordered service or an instance. The others
/// wait: first those of chains and those that return, in the order of their arrival; then the lanes, in turn, such as
/// one for each connection. At a server's gate, the lanes have every other turn. A call of a chain passes a full gate
/// in the name of a running call in front of it, one at a time for each such name. So at most the limit, times 1 and
/// the depth of chains, is inside; at a connection's gate more, if calls of other connections are in front.
/// Thread-safe.
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
    private readonly LinkedList<GateTicket> _first = new();
    private readonly LinkedList<LinkedList<GateTicket>> _lanes = new(); // the first has its turn
    private Dictionary<object, LinkedListNode<LinkedList<GateTicket>>>? _laneOf;
    private bool _hasServedFirst; // of the last turn
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
    /// <param name="mostInLanes">The calls that may wait, beside those of chains and those that return.</param>
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

                if (!isFree && ticket.Parent is null && (word / OneWaiting) - _first.Count >= mostInLanes)
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
            List<GateTicket> taken = [.. _first.Where(one => one.Lane == lane && isChosen(one))];
            if (_laneOf?.TryGetValue(lane, out LinkedListNode<LinkedList<GateTicket>>? node) == true)
            {
                taken.AddRange(node.Value.Where(one => isChosen(one)));
            }

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

        List<GateTicket>? granted = null;
        HashSet<RunningCall>? stuck = mayPass ? [] : null;
        bool hasMore = false;
        using (_lock.Enter())
        {
            while (!hasMore && TakeNext(stuck) is { } next)
            {
                if (isOfInstance)
                {
                    // Under the lock, because such a call may let go and wait again with the same ticket.
                    next.OnGranted();
                    stuck?.Clear();
                    continue;
                }

                (granted ??= []).Add(next);
                hasMore = IsHeld is not null && granted.Count == MostPerEvent && Waiting > 0;
            }
        }

        if (hasMore)
        {
            LetInLater!();
        }

        granted?.ForEach(static one => one.OnGranted());
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

        GateTicket? next = null;
        if (Inside < limit && IsHeld?.Invoke() != true)
        {
            next = TakeTurn();
            Interlocked.Add(ref _word, OneInside);
            next.State = GateState.Inside;
        }
        else if (stuck is not null)
        {
            for (LinkedListNode<GateTicket>? node = _first.First; node is not null && next is null; node = node.Next)
            {
                if (node.Value.Parent is { } parent && !stuck.Contains(parent))
                {
                    if (TryPass(node.Value))
                    {
                        next = node.Value;
                    }
                    else
                    {
                        stuck.Add(parent);
                    }
                }
            }
        }

        if (next is not null)
        {
            Remove(next);
        }

        return next;
    }

    // Under the lock: the lane that is served has its next turn after the others. Between connections, every other turn
    // is one of a lane, or the chains of one client would keep all others out.
    private GateTicket TakeTurn()
    {
        bool isBetweenConnections = !isOfInstance && IsHeld is null;
        if (_first.First is { } first && (_lanes.Count == 0 || !isBetweenConnections || !_hasServedFirst))
        {
            _hasServedFirst = true;
            return first.Value;
        }

        _hasServedFirst = false;
        LinkedListNode<LinkedList<GateTicket>> lane = _lanes.First!;
        _lanes.RemoveFirst();
        _lanes.AddLast(lane);
        return lane.Value.First!.Value;
    }

    // Under the lock.
    private void Add(GateTicket ticket, bool isFirst)
    {
        ticket.State = GateState.Waiting;
        ticket.Gate = this;
        if (isFirst)
        {
            ticket.Wait(_first);
            return;
        }

        _laneOf ??= [];
        if (!_laneOf.TryGetValue(ticket.Lane, out LinkedListNode<LinkedList<GateTicket>>? lane))
        {
            lane = _lanes.AddLast(new LinkedList<GateTicket>());
            _laneOf.Add(ticket.Lane, lane);
        }

        ticket.Wait(lane.Value);
    }

    // Under the lock. A call that has gone on to another gate is in a list of that one.
    private bool Remove(GateTicket ticket)
    {
        if (ticket.Node.List is not { } list)
        {
            return false;
        }

        LinkedListNode<LinkedList<GateTicket>>? lane = null;
        if (list != _first && (_laneOf?.TryGetValue(ticket.Lane, out lane) != true || lane!.Value != list))
        {
            return false;
        }

        list.Remove(ticket.Node);
        Interlocked.Add(ref _word, -OneWaiting);
        if (lane is not null && list.Count == 0)
        {
            _lanes.Remove(lane);
            _laneOf!.Remove(ticket.Lane);
        }

        return true;
    }
}
