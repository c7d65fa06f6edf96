namespace RpcOverShm.Connections;

/// <content>One-way calls of both sides: the operations on their window that need the gate.</content>
internal sealed partial class FrameSender
{
    /// <summary>
    /// Adds the cost of a further record of an incoming one-way call, unless the End of the call is already in the
    /// ring. The caller holds the reader role.
    /// </summary>
    public void AddOneWayCost(ConnectionCall call, int bytes)
    {
        using SendGate.Scope scope = _gate.Enter();
        if (call.Sending.Phase != CallSendPhase.Finished)
        {
            Incoming.AddOneWayCost(call, bytes);
        }
    }

    /// <summary>Returns a task that completes when a one-way call that waits for capacity must try again.</summary>
    public Task WhenCapacityMayBeFreeAsync(ConnectionCall call)
    {
        using SendGate.Scope scope = _gate.Enter();
        return OneWayCalls.WhenCapacityMayBeFreeAsync(call);
    }

    /// <summary>
    /// Wakes the first waiting one-way call if it may start now. With <paramref name="onlyIfHalfFree"/>, wakes it only
    /// if half of the window is free. The caller has found that a call waits.
    /// </summary>
    public void WakeOneWay(bool onlyIfHalfFree)
    {
        using SendGate.Scope scope = _gate.Enter();
        if (onlyIfHalfFree)
        {
            OneWayCalls.WakeFirstIfHalfFree();
        }
        else
        {
            OneWayCalls.WakeFirst();
        }
    }

    /// <summary>Wakes all waiting one-way calls, because the connection accepts no more calls.</summary>
    public void WakeAllOneWay()
    {
        // Under the gate, so that a call which begins to wait meanwhile is woken, or sees that the peer leaves.
        using SendGate.Scope scope = _gate.Enter();
        OneWayCalls.WakeAll();
    }

    // Under the gate.
    private StartResult TryAddOneWay(ConnectionCall call, int headBytes)
    {
        long cost = call.Sending.OneWayCost;
        call.Sending.OneWayCost = cost + headBytes;
        if (OneWayCalls.TryAdd(call))
        {
            return StartResult.Started;
        }

        call.Sending.OneWayCost = cost;
        return StartResult.WindowFull;
    }
}
