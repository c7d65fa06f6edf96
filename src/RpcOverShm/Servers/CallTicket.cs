using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Servers;

/// <summary>
/// The way of a call through its gates. Only calls that wait, belong to a chain or start in order have one. Changed by
/// one thread at a time.
/// </summary>
/// <param name="call">The call.</param>
/// <param name="parent">The running call of this side in front of it in its chain; null for none.</param>
/// <param name="caller">The outgoing call for which the peer makes this one, a callback; null for none.</param>
internal sealed class CallTicket(ServerCall call, RunningCall? parent = null, ConnectionCall? caller = null)
    : GateTicket(call.Owner, parent)
{
    private CallGate? _order;

    public ServerCall Call => call;

    public ConnectionCall? Caller => caller;

    /// <summary>Whether a running call may wait for this one.</summary>
    public bool IsOfChain => Parent is not null || caller is { IsOneWay: false };

    /// <summary>The number of calls in front of the call in its chain.</summary>
    public int Depth => caller is not null ? 1 + caller.Depth : Parent is not null ? 1 + Parent.Depth : 0;

    /// <summary>
    /// Whether a stop lets the call run: a one-way call is never retried, and a running method may wait for a call of a
    /// chain.
    /// </summary>
    public bool IsSparedByStop => call.IsOneWay || IsOfChain;

    public CallStage Stage { get; set; } = CallStage.EnteredOrder;

    /// <summary>The gate of those calls that start in order; null if the call starts at once, or has left it.</summary>
    public CallGate? Order => Volatile.Read(ref _order);

    /// <summary>Whether the call is counted as admitted, and not inside of its connection's gate.</summary>
    public bool IsPending { get; set; }

    /// <summary>Whether the call is counted among the queued ones of its connection.</summary>
    public bool IsQueued { get; set; }

    /// <summary>The bytes that are charged for the call because it has not begun.</summary>
    public long ChargedBytes { get; set; }

    /// <summary>The thread that runs the first part of an ordered method, while it does; else 0.</summary>
    public int StartingThread { get; set; }

    /// <summary>The call that the starting thread runs next.</summary>
    public CallTicket? NextInOrder { get; set; }

    /// <summary>Sets the order in which the call starts, before it comes to its gates.</summary>
    public void SetOrder(CallGate order) => (_order, Stage) = (order, CallStage.BeforeOrder);

    /// <summary>Returns the order to the one thread that leaves it.</summary>
    public CallGate? TakeOrder() => _order is null ? null : Interlocked.Exchange(ref _order, null);

    /// <summary>
    /// Removes a waiting call that has ended. Returns true to one thread, which releases what is kept for it.
    /// </summary>
    public bool TryStopWaiting() => Gate?.TryTakeOut(this) == true;

    public override void OnWait()
    {
        // Nobody awaits it: it goes on by itself.
    }

    public override void OnGranted() => call.Owner.OnGateEntered(this);
}

/// <summary>The last gate that a call has entered on the way to its method.</summary>
internal enum CallStage : byte
{
    BeforeOrder,

    /// <summary>It may start, as the order of its service's calls goes.</summary>
    EnteredOrder,

    /// <summary>It has a place of its connection.</summary>
    EnteredConnection,

    /// <summary>It has a place of the server too.</summary>
    EnteredServer,
}
