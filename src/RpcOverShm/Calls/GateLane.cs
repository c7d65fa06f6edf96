namespace RpcOverShm.Calls;

/// <summary>
/// Calls that wait in the order of their arrival, but those that go before the others first. Guarded by the lock of
/// its gate.
/// </summary>
/// <param name="key">What the calls have in common; null for the lane before all others.</param>
internal sealed class GateLane(object? key)
{
    private LinkedListNode<GateTicket>? _lastFirst; // of those that go before the others
    private LinkedListNode<GateLane>? _node;

    public object? Key => key;

    public LinkedList<GateTicket> Calls { get; } = new();

    /// <summary>The place among the lanes of the gate.</summary>
    public LinkedListNode<GateLane> Node => _node ??= new LinkedListNode<GateLane>(this);

    public void Add(GateTicket ticket, bool isFirst)
    {
        ticket.OnWait();
        ticket.Waits = this;
        if (!isFirst)
        {
            Calls.AddLast(ticket.InLane);
            return;
        }

        if (_lastFirst is null)
        {
            Calls.AddFirst(ticket.InLane);
        }
        else
        {
            Calls.AddAfter(_lastFirst, ticket.InLane);
        }

        _lastFirst = ticket.InLane;
    }

    public void Remove(GateTicket ticket)
    {
        ticket.Waits = null;
        if (_lastFirst == ticket.InLane)
        {
            _lastFirst = ticket.InLane.Previous;
        }

        Calls.Remove(ticket.InLane);
    }
}
