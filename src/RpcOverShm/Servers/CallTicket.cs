using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Servers;

/// <summary>
/// The progress of an incoming call through its gates. Only a call that waits, belongs to a chain or starts in order
/// has a ticket. One thread at a time changes it.
/// </summary>
/// <param name="call">The call.</param>
/// <param name="parent">The running call of this side that precedes the call in its chain; null for none.</param>
/// <param name="callbackOrigin">The outgoing call for which the peer makes this one, a callback; null for none.</param>
internal sealed class CallTicket(ServerCall call, RunningCall? parent = null, ConnectionCall? callbackOrigin = null)
    : GateTicket(call.Owner, parent)
{
    // The call whose method has just reached its first await on this thread; the thread then starts the next call in
    // order.
    [ThreadStatic]
    private static CallTicket? s_started;

    private CallGate? _orderGate;

    public ServerCall Call => call;

    public ConnectionCall? CallbackOrigin => callbackOrigin;

    /// <summary>Whether a running call may wait for this one.</summary>
    public bool IsInChain => Parent is not null || callbackOrigin is { IsOneWay: false };

    /// <summary>The number of calls in front of this one in its chain.</summary>
    public int Depth =>
        callbackOrigin is not null ? 1 + callbackOrigin.Depth : Parent is not null ? 1 + Parent.Depth : 0;

    /// <summary>
    /// Whether the call may run although the server stops. A one-way call is never retried, and a running method may
    /// wait for a call of a chain.
    /// </summary>
    public bool IsExemptFromStop => call.IsOneWay || IsInChain;

    public CallStage Stage { get; set; } = CallStage.EnteredOrder;

    /// <summary>
    /// The order gate of the service of the call. Null if the service is not ordered or the call has left the gate.
    /// </summary>
    public CallGate? OrderGate => Volatile.Read(ref _orderGate);

    /// <summary>
    /// Whether the call counts as pending: it was admitted and has not entered the gate of its connection.
    /// </summary>
    public bool IsPending { get; set; }

    /// <summary>Whether the call is counted among the queued ones of its connection.</summary>
    public bool IsQueued { get; set; }

    /// <summary>The bytes charged to the budget while the call waits; 0 if none are.</summary>
    public long ChargedBytes { get; set; }

    /// <summary>The thread that runs the first part of an ordered method, while it does; else 0.</summary>
    public int StartingThread { get; set; }

    /// <summary>The call that the starting thread runs next.</summary>
    public CallTicket? NextInOrder { get; set; }

    /// <summary>Sets the order gate. Called before the call enters any gate.</summary>
    public void SetOrderGate(CallGate order) => (_orderGate, Stage) = (order, CallStage.BeforeOrder);

    /// <summary>
    /// Leaves the order gate when the method has reached its first await, or the call has ended before. The next call
    /// in order can then start. If this thread is running the first part of the method, it also starts the next one.
    /// Only the first use has an effect.
    /// </summary>
    public void LeaveOrder()
    {
        CallGate? order = _orderGate is null ? null : Interlocked.Exchange(ref _orderGate, null);
        if (order is null || Stage == CallStage.BeforeOrder)
        {
            return;
        }

        if (StartingThread != Environment.CurrentManagedThreadId)
        {
            order.Leave();
            return;
        }

        s_started = this;
        order.Leave();
        s_started = null;
    }

    /// <summary>
    /// Queues the start of the method of a call that has entered all gates. If this thread is just starting calls in
    /// order, the thread itself starts the method afterwards.
    /// </summary>
    public void QueueStart()
    {
        if (s_started is { NextInOrder: null } started && OrderGate is not null)
        {
            started.NextInOrder = this;
        }
        else
        {
            call.QueueUserCode(PendingUserCode.Start);
        }
    }

    /// <summary>
    /// Removes a call that has ended from the gate at which it waits. Returns true to one thread only, which must then
    /// release the request and the counts of the call.
    /// </summary>
    public bool TryStopWaiting() => Gate?.TryTakeOut(this) == true;

    public override void OnWait()
    {
        // No task waits: OnGranted continues with the call.
    }

    public override void OnGranted() => call.Owner.OnGateEntered(this);
}

/// <summary>The last gate that a call has entered on the way to its method.</summary>
internal enum CallStage : byte
{
    BeforeOrder,

    /// <summary>The call may start: all earlier calls of its ordered service have reached their first await.</summary>
    EnteredOrder,

    /// <summary>The call counts towards the limit of its connection.</summary>
    EnteredConnection,

    /// <summary>The call also counts towards the limit of the server.</summary>
    EnteredServer,
}
