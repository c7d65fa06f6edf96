namespace RpcOverShm.Calls;

/// <content>
/// Calls of chains, which pass in the name of a call in front of them, and calls at the gate of their instance, which
/// let others in while their method waits for a callback.
/// </content>
internal sealed partial class CallGate
{
    private Dictionary<RunningCall, GateTicket>? _passing; // by name: the call that has passed in it

    /// <summary>Ends a call at the gate of its instance, whether it waits, is inside, or has let go.</summary>
    public void End(GateTicket ticket, RunningCall name)
    {
        using (_lock.Enter())
        {
            if (Remove(ticket))
            {
                ticket.OnGranted(); // Nobody waits for an ended call.
            }
            else if (ticket.State == GateState.Inside)
            {
                HandOn(ticket, name);
                Interlocked.Decrement(ref _word);
            }

            ticket.State = GateState.Ended;
        }

        LetIn(mayPass: true);
    }

    /// <summary>Lets others in while the method of a call waits for a callback. Has no effect on one outside.</summary>
    public void LetGo(GateTicket ticket, RunningCall name)
    {
        using (_lock.Enter())
        {
            if (ticket.State != GateState.Inside)
            {
                return;
            }

            ticket.State = GateState.Outside;
            HandOn(ticket, name);
            Interlocked.Decrement(ref _word);
        }

        LetIn(mayPass: true);
    }

    /// <summary>
    /// Takes again what a call has let go, or waits for it before all others. Returns whether the call may go on.
    /// </summary>
    public bool TakeAgain(GateTicket ticket)
    {
        using (_lock.Enter())
        {
            if (ticket.State != GateState.Outside)
            {
                return ticket.State != GateState.Waiting;
            }

            if (!TryReturn(ticket) && !TryPass(ticket))
            {
                Interlocked.Add(ref _word, OneWaiting);
                Add(ticket, isFirst: true);
                return false;
            }
        }

        LetIn(mayPass: true); // In its name.
        return true;
    }

    // Under the lock: a call that returns comes before the lanes, but not before others that return.
    private bool TryReturn(GateTicket ticket)
    {
        long word = Volatile.Read(ref _word);
        while (_first.Calls.Count == 0 && word % OneWaiting < limit)
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
    /// Lets a call in in the name of the nearest one in front of it that runs, and in whose name none has passed. Under
    /// the lock. The name is lent before it is looked for, and its call takes it back before it looks whether it is
    /// lent (<c>name_is_lent_first</c>, <c>name_goes_first</c>). So it is not gone before this call has left the lock.
    /// </summary>
    private bool TryPass(GateTicket ticket)
    {
        for (RunningCall? above = ticket.Parent; above is not null; above = above.Parent)
        {
            if (_passing?.ContainsKey(above) != true
                && (isOfInstance ? above.Ticket is { State: GateState.Inside } at && at.Gate == this : above.TryLend()))
            {
                (_passing ??= []).Add(above, ticket);
                ticket.HasPassed = true;
                ticket.State = GateState.Inside;
                Interlocked.Add(ref _word, OneInside);
                return true;
            }
        }

        return false;
    }

    // Under the lock: the call that passed in the name of this one goes on in the name in which this one passed, if any
    // (mark_is_handed_on). Otherwise a call could let others pass without end, with a call between that ends first.
    private void HandOn(GateTicket? ticket, RunningCall? name)
    {
        GateTicket? heir = null;
        if (name is not null)
        {
            _passing?.Remove(name, out heir);
        }

        for (RunningCall? above = ticket?.Parent; above is not null; above = above.Parent)
        {
            if (_passing is { } passing && passing.GetValueOrDefault(above) == ticket)
            {
                passing.Remove(above);
                if (heir is not null)
                {
                    passing.Add(above, heir);
                }

                return;
            }
        }
    }
}
