namespace RpcOverShm.Calls;

/// <summary>
/// A call that may have to wait at a gate: one of a chain, or one of an instance. Guarded by the lock of that gate.
/// </summary>
/// <param name="lane">What the calls of one lane have in common: their connection.</param>
/// <param name="parent">The running call in front of it in its chain; null for none.</param>
internal class GateTicket(object lane, RunningCall? parent = null)
{
    private LinkedListNode<GateTicket>? _inLane;
    private LinkedListNode<GateTicket>? _inChain;
    private TaskCompletionSource? _granted;

    public object LaneKey => lane;

    public RunningCall? Parent => parent;

    /// <summary>The gate at which the call waits, or that of its instance.</summary>
    public CallGate? Gate { get; set; }

    public GateState State { get; set; }

    /// <summary>Whether the call has borrowed the place of a running call at a gate.</summary>
    public bool HasBorrowed { get; set; }

    /// <summary>The lane in which the call waits; null while it does not wait.</summary>
    public GateLane? Lane { get; set; }

    /// <summary>The place in a lane.</summary>
    public LinkedListNode<GateTicket> LaneNode => _inLane ??= new LinkedListNode<GateTicket>(this);

    /// <summary>The place among the waiting calls of the same parent.</summary>
    public LinkedListNode<GateTicket> ChainNode => _inChain ??= new LinkedListNode<GateTicket>(this);

    /// <summary>Completes when the call that waits was let in, or has ended.</summary>
    public Task Granted => _granted?.Task ?? Task.CompletedTask;

    /// <summary>Notes that the call begins to wait. Under the lock.</summary>
    public virtual void OnWait() =>
        _granted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Goes on with a call that has waited. Outside the lock, but for the gate of an instance.</summary>
    public virtual void OnGranted() => _granted!.TrySetResult();
}

/// <summary>The state of a call at a gate.</summary>
internal enum GateState
{
    /// <summary>It has not entered, or has yielded its instance.</summary>
    Outside,

    Waiting,

    Inside,

    Ended,
}

/// <summary>The result of an attempt to enter a gate of calls.</summary>
internal enum GateResult
{
    /// <summary>The call is inside.</summary>
    Inside,

    /// <summary>The call waits, and may have been let in meanwhile.</summary>
    Waiting,

    /// <summary>Too many calls wait, so this one does not.</summary>
    Full,
}
