using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// The outgoing one-way calls of one connection: the cost of those whose End was not received, and the callers that
/// wait for capacity, first come first served. Guarded by the gate of the sender, except where a member says that any
/// thread may call it.
/// </summary>
internal sealed class OneWayCalls(OutgoingCalls calls, PeerLimits peer)
{
    /// <summary>
    /// The fixed cost of a call, added to the payload of its records: the memory that the peer keeps for the call.
    /// </summary>
    public const int BytesPerCall = 1 << 10;

    private readonly LinkedList<WaitingCall> _waiters = new();
    private readonly Dictionary<ConnectionCall, LinkedListNode<WaitingCall>> _byCall = [];
    private volatile bool _hasWaiters;
    private long _started;  // the cost of all calls so far
    private long _returned; // of that, the cost of those that have ended; changed by any thread

    /// <summary>Whether callers wait. Any thread may ask.</summary>
    public bool HasWaiters => _hasWaiters;

    /// <summary>The cost of the calls whose End was not received.</summary>
    public long Bytes => _started - Volatile.Read(ref _returned);

    private bool HasCapacity => Bytes < peer.OneWayWindow && HasSlot(calls.OneWayCounter.Count);

    /// <summary>
    /// Adds a call and its cost if there is capacity and no earlier call waits. Otherwise the call joins the waiting
    /// calls; see <see cref="WhenCapacityMayBeFreeAsync"/>.
    /// </summary>
    public bool TryAdd(ConnectionCall call)
    {
        if (TryAddNow(call))
        {
            return true;
        }

        if (!_byCall.TryGetValue(call, out LinkedListNode<WaitingCall>? node))
        {
            node = new LinkedListNode<WaitingCall>(new WaitingCall(call));
            _byCall.Add(call, node);
            _waiters.AddLast(node);
            _hasWaiters = true;
        }
        else if (node.Value.Turn.Task.IsCompleted)
        {
            node.Value.WaitAgain();
        }

        // StoreLoad: the call joins the waiting ones before it checks for capacity again. A reader returns it before it
        // checks for waiting calls, at the latest after it has armed the ring.
        Interlocked.MemoryBarrier();
        return TryAddNow(call);
    }

    /// <summary>Returns a task that completes when a waiting call must try again, or when it no longer waits.</summary>
    public Task WhenCapacityMayBeFreeAsync(ConnectionCall call) =>
        _byCall.TryGetValue(call, out LinkedListNode<WaitingCall>? node)
            ? node.Value.Turn.Task
            : Task.CompletedTask;

    /// <summary>Returns the capacity of a call that has ended or was not sent. Any thread may call this.</summary>
    public void Return(ConnectionCall call) => Interlocked.Add(ref _returned, call.Sending.OneWayCost);

    /// <summary>Ends the wait of a call that has started, has ended, or starts on another connection.</summary>
    public void Leave(ConnectionCall call)
    {
        if (_byCall.Remove(call, out LinkedListNode<WaitingCall>? node))
        {
            _waiters.Remove(node);
            _hasWaiters = _waiters.Count > 0;
            node.Value.Turn.TrySetResult();
        }

        WakeFirst();
    }

    /// <summary>Has the first waiting call try again, if there is capacity for it.</summary>
    public void WakeFirst()
    {
        if (_waiters.First is { } first && HasCapacity)
        {
            first.Value.Turn.TrySetResult();
        }
    }

    /// <summary>
    /// As <see cref="WakeFirst"/>, once half of the window is free: a caller is not woken for each call that ends.
    /// </summary>
    public void WakeFirstIfHalfFree()
    {
        if (Bytes <= peer.OneWayWindow / 2)
        {
            WakeFirst();
        }
    }

    /// <summary>
    /// Wakes all waiting calls. Each tries again and finds that the connection accepts no more calls.
    /// </summary>
    public void WakeAll()
    {
        foreach (WaitingCall waiter in _waiters)
        {
            waiter.Turn.TrySetResult();
        }
    }

    // Half of the slots are for other calls.
    private bool HasSlot(int used) =>
        used < Math.Max(1, peer.MaxCalls / 2) && used + calls.TwoWayCounter.Count < peer.MaxCalls;

    private bool TryAddNow(ConnectionCall call)
    {
        if ((_waiters.First is { } first && first.Value.Call != call) || !HasCapacity || !calls.TryAdd(call))
        {
            return false;
        }

        _started += call.Sending.OneWayCost;
        if (_hasWaiters)
        {
            Leave(call);
        }

        return true;
    }

    /// <summary>A waiting call.</summary>
    private sealed class WaitingCall
    {
        public WaitingCall(ConnectionCall call)
        {
            Call = call;
            WaitAgain();
        }

        public ConnectionCall Call { get; }

        /// <summary>
        /// Completes when the call is to try again. For a blocking call, the continuation signals its thread and runs
        /// under the gate: no thread of the pool is needed for that, unless the thread that wakes it has a
        /// SynchronizationContext.
        /// </summary>
        public TaskCompletionSource Turn { get; private set; } = null!;

        public void WaitAgain() => Turn = new TaskCompletionSource(
            Call.Latch is null ? TaskCreationOptions.RunContinuationsAsynchronously : TaskCreationOptions.None);
    }
}
