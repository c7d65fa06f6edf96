using RpcOverShm.Calls;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// The state of a call that waits, has waited, or may make others wait; most calls need none. Guarded by the queue or
/// by the places that have the call in their list, and by <see cref="CallPlaces"/> where it says so.
/// </summary>
internal sealed class CallTurn
{
    public CallTurn(ServerCall call)
    {
        Call = call;
        Node = new LinkedListNode<CallTurn>(this);
    }

    /// <summary>
    /// Returns the state of a call that names a parent: a callback, or a nested call. Null for any other call. Only the
    /// holder of the reader role calls this.
    /// </summary>
    public static CallTurn? For(ServerCall call, ParentCall? parent)
    {
        ServerConnection owner = call.Owner;
        if (parent is not null && owner.Connection.FindCaller(parent) is { } caller)
        {
            caller.IsCalledBack = true;
            return new CallTurn(call) { Caller = caller, Parent = caller.Parent };
        }

        bool isNested = parent is not null && owner.IsOfThisProcess && owner.Queue.Knows(parent);
        return isNested ? new CallTurn(call) { Parent = parent } : null;
    }

    public ServerCall Call { get; }

    /// <summary>The place in the list of waiting calls.</summary>
    public LinkedListNode<CallTurn> Node { get; }

    /// <summary>The running call in whose place a nested call may run; null for none.</summary>
    public ParentCall? Parent { get; init; }

    /// <summary>The outgoing call for which the peer makes this one, a callback; null for none.</summary>
    public ConnectionCall? Caller { get; init; }

    /// <summary>Whether a running call may wait for this one.</summary>
    public bool IsOfChain => Parent is not null || Caller is not null;

    /// <summary>The call as the code of its method knows it; null if no call of the method names it.</summary>
    public AmbientCall? Ambient { get; set; }

    /// <summary>The calls in whose order the method starts; null if it starts at once.</summary>
    public OrderedStarts? Order { get; set; }

    /// <summary>The place in that order. Guarded by it.</summary>
    public LinkedListNode<CallTurn>? OrderNode { get; set; }

    /// <summary>Whether the method may run when it is first in that order. Guarded by it.</summary>
    public bool IsReady { get; set; }

    /// <summary>Whether the call is counted as admitted and not begun.</summary>
    public bool IsUnbegun { get; set; }

    /// <summary>Whether the call is counted among the queued ones of its connection.</summary>
    public bool IsQueued { get; set; }

    /// <summary>The bytes that are charged for the call because it has not begun.</summary>
    public long ChargedBytes { get; set; }

    /// <summary>The name under which nested calls know the call; null for none. Set before they do.</summary>
    public ParentCall? Name { get; set; }

    /// <summary>Whether the call has one of the server's places. Guarded by the places.</summary>
    public bool HasPlace { get; set; }

    /// <summary>Whether the call runs in its parent's place on this connection. Guarded by the places.</summary>
    public bool IsNested { get; set; }

    /// <summary>The call in whose place this one runs. Guarded by the places.</summary>
    public CallTurn? Lender { get; set; }

    /// <summary>
    /// The nested call that runs in this one's place: one at a time. Guarded by the places; the end of this call reads
    /// it without the lock.
    /// </summary>
    public CallTurn? Borrower { get; set; }
}
