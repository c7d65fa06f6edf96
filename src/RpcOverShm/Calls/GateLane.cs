namespace RpcOverShm.Calls;

/// <summary>
/// The waiting calls of one connection, in the order of their arrival; calls with priority come first. Guarded by the
/// lock of the gate.
/// </summary>
/// <param name="key">The connection; null for the lane before all others.</param>
internal sealed class GateLane(object? key)
{
    private LinkedListNode<GateTicket>? _lastPriority; // the last call with priority
    private LinkedListNode<GateLane>? _node;

    public object? Key => key;

    public LinkedList<GateTicket> Calls { get; } = new();

    /// <summary>The place among the lanes of the gate.</summary>
    public LinkedListNode<GateLane> Node => _node ??= new LinkedListNode<GateLane>(this);

    public void Add(GateTicket ticket, bool hasPriority)
    {
        ticket.OnWait();
        ticket.Lane = this;
        if (!hasPriority)
        {
            Calls.AddLast(ticket.LaneNode);
            return;
        }

        if (_lastPriority is null)
        {
            Calls.AddFirst(ticket.LaneNode);
        }
        else
        {
            Calls.AddAfter(_lastPriority, ticket.LaneNode);
        }

        _lastPriority = ticket.LaneNode;
    }

    public void Remove(GateTicket ticket)
    {
        ticket.Lane = null;
        if (_lastPriority == ticket.LaneNode)
        {
            _lastPriority = ticket.LaneNode.Previous;
        }

        Calls.Remove(ticket.LaneNode);
    }
}
