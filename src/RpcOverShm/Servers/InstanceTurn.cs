using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>A call at the gate of an instance, which guards all its properties.</summary>
internal sealed class InstanceTurn : CallHold
{
    private readonly InstanceGate _gate;

    /// <summary>Creates the turn of a call.</summary>
    /// <param name="gate">The gate.</param>
    /// <param name="above">The next call in front of it in its chain that is at the same gate; null for none.</param>
    public InstanceTurn(InstanceGate gate, InstanceTurn? above = null)
    {
        _gate = gate;
        Above = above;
        Node = new LinkedListNode<InstanceTurn>(this);
    }

    public InstanceTurn? Above { get; }

    /// <summary>The place in a list of waiting calls.</summary>
    public LinkedListNode<InstanceTurn> Node { get; }

    public InstanceTurnState State { get; set; }

    /// <summary>Whether the call has one of the gate's places.</summary>
    public bool HasPlace { get; set; }

    /// <summary>The call in whose place this one runs.</summary>
    public InstanceTurn? Lender { get; set; }

    /// <summary>The call that runs in the place of this one.</summary>
    public InstanceTurn? Borrower { get; set; }

    /// <summary>Completes the wait; null before the first one.</summary>
    public TaskCompletionSource? Granted { get; set; }

    /// <summary>Returns the turn of a call in front of another one, at a gate; null if there is none.</summary>
    public static InstanceTurn? FindAbove(AmbientCall? call, InstanceGate gate)
    {
        for (AmbientCall? above = call?.Parent; above is not null; above = above.Parent)
        {
            if (above.Hold is InstanceTurn turn && turn._gate == gate)
            {
                return turn;
            }
        }

        return null;
    }

    /// <summary>Ends the call at its gate, whatever it does there.</summary>
    public void Exit() => _gate.Exit(this);

    public override void LetGo() => _gate.LetGo(this);

    public override Task TakeAgainAsync() => _gate.TakeAgainAsync(this);
}

/// <summary>Where a call is as its gate sees it.</summary>
internal enum InstanceTurnState
{
    /// <summary>It has not come, or has let go.</summary>
    Outside,

    Waiting,

    Inside,

    Ended,
}
