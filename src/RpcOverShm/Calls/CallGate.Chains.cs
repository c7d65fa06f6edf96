namespace RpcOverShm.Calls;

/// <content>
/// Calls of chains, which borrow the place of a call in front of them, and calls at the gate of their instance, which
/// yield it while their method waits for a callback.
/// </content>
internal sealed partial class CallGate
{
    private Dictionary<RunningCall, GateTicket>? _borrowers; // by the call that lends its place

    /// <summary>Ends a call at the gate of its instance, whether it waits, is inside, or has yielded.</summary>
    public void End(GateTicket ticket, RunningCall running)
    {
        using (_lock.Enter())
        {
            if (Remove(ticket))
            {
                ticket.OnGranted(); // Nobody waits for an ended call.
            }
            else if (ticket.State == GateState.Inside)
            {
                ReturnLoan(ticket, running);
                Interlocked.Decrement(ref _word);
            }

            ticket.State = GateState.Ended;
        }

        LetIn(mayBorrow: true);
    }

    /// <summary>
    /// Gives the instance to other calls while the method waits for a callback. No effect unless the call is inside.
    /// </summary>
    public void Yield(GateTicket ticket, RunningCall running)
    {
        using (_lock.Enter())
        {
            if (ticket.State != GateState.Inside)
            {
                return;
            }

            ticket.State = GateState.Outside;
            ReturnLoan(ticket, running);
            Interlocked.Decrement(ref _word);
        }

        LetIn(mayBorrow: true);
    }

    /// <summary>Enters the instance again, or waits for it before all lanes. Returns false if it waits.</summary>
    public bool ReenterOrWait(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            if (ticket.State != GateState.Outside)
            {
                return ticket.State != GateState.Waiting;
            }

            if (!TryReenter(ticket) && !TryBorrow(ticket))
            {
                Interlocked.Add(ref _word, OneWaiting);
                Add(ticket, hasPriority: true);
                return false;
            }
        }

        LetIn(mayBorrow: true); // It may be the lender of others.
        return true;
    }

    // Under the lock: a call that returns comes before the lanes, but not before others that return.
    private bool TryReenter(GateTicket ticket)
    {
        long word = Volatile.Read(ref _word);
        while (_priorityLane.Calls.Count == 0 && word % OneWaiting < limit)
        {
            long seen = Interlocked.CompareExchange(ref _word, word + OneInside, word);
            if (seen == word)
            {
                ticket.State = GateState.Inside;
                return true;
            }

            word = seen;
        }

        return false;
    }

    /// <summary>
    /// Lets a call borrow the place of the nearest running call in front of it that lends none. Called under the lock.
    /// <see cref="RunningCall.TryLend"/> marks the place as lent and then checks for the end of its call. That call
    /// ends and then checks the mark (<c>place_is_lent_first</c>, <c>running_call_ends_first</c>). So it cannot leave
    /// before this thread has released the lock.
    /// </summary>
    private bool TryBorrow(GateTicket ticket)
    {
        for (RunningCall? above = ticket.Parent; above is not null; above = above.Parent)
        {
            if (_borrowers?.ContainsKey(above) != true
                && (isOfInstance
                    ? above.InstanceTicket is { State: GateState.Inside } at && at.Gate == this
                    : above.TryLend()))
            {
                (_borrowers ??= []).Add(above, ticket);
                ticket.HasBorrowed = true;
                ticket.State = GateState.Inside;
                Interlocked.Add(ref _word, OneInside);
                return true;
            }
        }

        return false;
    }

    // Under the lock: a call that has borrowed from this one goes on with the place that this one has borrowed, if any
    // (mark_is_handed_on). Otherwise a call could lend without end, with a call between that ends first.
    private void ReturnLoan(GateTicket? ticket, RunningCall? running)
    {
        GateTicket? borrower = null;
        if (running is not null)
        {
            _borrowers?.Remove(running, out borrower);
        }

        for (RunningCall? above = ticket?.Parent; above is not null; above = above.Parent)
        {
            if (_borrowers is { } borrowers && borrowers.GetValueOrDefault(above) == ticket)
            {
                borrowers.Remove(above);
                if (borrower is not null)
                {
                    borrowers.Add(above, borrower);
                }

                return;
            }
        }
    }
}
