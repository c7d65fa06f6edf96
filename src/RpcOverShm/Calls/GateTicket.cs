namespace RpcOverShm.Calls;

/// <summary>
/// A call at a gate that makes it wait, or may: one of a chain, or at an instance. Guarded by the lock of the gate at
/// which it is.
/// </summary>
/// <param name="lane">What the calls of one lane have in common: their connection.</param>
/// <param name="parent">The running call in front of it in its chain; null for none.</param>
internal class GateTicket(object lane, RunningCall? parent = null)
{
    private LinkedListNode<GateTicket>? _inLane;
    private LinkedListNode<GateTicket>? _inChain;
    private TaskCompletionSource? _granted;

    public object Lane => lane;

    public RunningCall? Parent => parent;

    /// <summary>The gate at which the call waits, or of the instance that it is at.</summary>
    public CallGate? Gate { get; set; }

    public GateState State { get; set; }

    /// <summary>Whether the call has passed a gate in the name of a running call.</summary>
    public bool HasPassed { get; set; }

    /// <summary>The lane in which the call waits; null while it does not wait.</summary>
    public GateLane? Waits { get; set; }

    /// <summary>The place in a lane.</summary>
    public LinkedListNode<GateTicket> InLane => _inLane ??= new LinkedListNode<GateTicket>(this);

    /// <summary>The place among those that wait for the same parent's name.</summary>
    public LinkedListNode<GateTicket> InChain => _inChain ??= new LinkedListNode<GateTicket>(this);

    /// <summary>Completes when the call that waits was let in, or has ended.</summary>
    public Task Granted => _granted?.Task ?? Task.CompletedTask;

    /// <summary>Notes that the call begins to wait. Under the lock.</summary>
    public virtual void OnWait() =>
        _granted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Goes on with a call that has waited. Outside the lock, but for the gate of an instance.</summary>
    public virtual void OnGranted() => _granted!.TrySetResult();
}

/// <summary>Where a call is as the gate of its instance sees it.</summary>
internal enum GateState
{
    /// <summary>It has not come, or has let go.</summary>
    Outside,

    Waiting,

    Inside,

    Ended,
}
