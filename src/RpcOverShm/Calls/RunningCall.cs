using System.Collections.Concurrent;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// A call whose method runs, known to the method's code through its ExecutionContext. Calls that the method makes name
/// it as their parent. Set only if such a call may wait at a gate or be a callback, so other calls pay nothing.
/// </summary>
internal sealed class RunningCall
{
    private static readonly AsyncLocal<RunningCall?> s_current = new();
    private static readonly ConcurrentDictionary<ParentCall, RunningCall> s_findable = new();
    private static volatile bool s_isUsed;

    private volatile ConnectionCall? _call; // null after the end
    private ParentCall? _reference;         // made by the first call of the method that needs it
    private volatile bool _isFindable;
    private volatile bool _isLent;

    /// <summary>Makes a call known to those of its method.</summary>
    /// <param name="call">The call.</param>
    /// <param name="server">The gate of the server, or of the channel's callbacks.</param>
    /// <param name="parent">The running call of this side that is next in front of the call in its chain.</param>
    public RunningCall(ConnectionCall call, CallGate server, RunningCall? parent = null)
    {
        _call = call;
        ServerGate = server;
        Parent = parent;
        Depth = call.Depth;
    }

    /// <summary>The call whose method runs in this context; null if none is known or the method has ended.</summary>
    public static RunningCall? Current => s_isUsed && s_current.Value is { HasEnded: false } current ? current : null;

    /// <summary>The number of calls in front of the call in its chain of calls and callbacks.</summary>
    public int Depth { get; }

    public RunningCall? Parent { get; }

    /// <summary>The call at the gate of its instance; null if that has none. Set before the method runs.</summary>
    public GateTicket? InstanceTicket { get; set; }

    /// <summary>Whether a call may have borrowed this one's place.</summary>
    public bool IsLent => _isLent;

    /// <summary>
    /// The reference that nested calls carry, by which a server of this process finds the call; null if the call ended
    /// before one was made.
    /// </summary>
    public ParentCall? AsParent
    {
        get
        {
            if (_reference is null && _call?.AsParent is { } made)
            {
                Interlocked.CompareExchange(ref _reference, made, null);
            }

            return _reference;
        }
    }

    /// <summary>The gate of the server of the call, or of the channel's callbacks.</summary>
    public CallGate ServerGate { get; }

    private bool HasEnded => _call is null;

    /// <summary>
    /// Returns the running call that a nested call refers to; null if the given server of this process does not run it.
    /// </summary>
    public static RunningCall? Find(ParentCall reference, CallGate server) =>
        s_findable.TryGetValue(reference, out RunningCall? call) && call.ServerGate == server && !call.HasEnded
            ? call
            : null;

    /// <summary>Makes a call known to the code that this thread runs next, until its context is restored.</summary>
    public static void Set(RunningCall call)
    {
        s_isUsed = true;
        s_current.Value = call;
    }

    /// <summary>Lets servers of this process find the call by its name.</summary>
    public void MakeFindable()
    {
        if (_isFindable || AsParent is not { } reference)
        {
            return;
        }

        // Noted afterwards: another call of the method then finds the name there.
        UninterruptibleLock.Run((reference, this), static add => s_findable[add.reference] = add.Item2);
        _isFindable = true;

        // StoreLoad: the name is there before this thread looks for the end; End does both in the other order.
        Interlocked.MemoryBarrier();
        if (HasEnded)
        {
            Withdraw();
        }
    }

    /// <summary>Lends the place of this call to another one. Returns false if this call has ended.</summary>
    public bool TryLend()
    {
        _isLent = true;
        Interlocked.MemoryBarrier(); // StoreLoad: lent before it looks for the end; End looks afterwards.
        return !HasEnded;
    }

    /// <summary>
    /// Ends the call: no further call borrows its place. Code that the method left running makes calls without a
    /// parent.
    /// </summary>
    public void End()
    {
        Interlocked.Exchange(ref _call, null);
        if (_isFindable)
        {
            Withdraw();
        }
    }

    /// <summary>Returns the nearest call in front of this one at the gate of an instance; null for none.</summary>
    public RunningCall? FindAbove(CallGate gate)
    {
        RunningCall? above = Parent;
        while (above is not null && above.InstanceTicket?.Gate != gate)
        {
            above = above.Parent;
        }

        return above;
    }

    /// <summary>Gives the instance to other calls while the method waits for a callback.</summary>
    public void YieldInstance() => InstanceTicket?.Gate!.Yield(InstanceTicket, this);

    /// <summary>
    /// Enters the instance again. Does not fail. Completes at once if the call has not yielded it, or has ended.
    /// </summary>
    public Task ReenterInstanceAsync() =>
        InstanceTicket is not { } ticket || ticket.Gate!.ReenterOrWait(ticket) ? Task.CompletedTask : ticket.Granted;

    /// <summary>
    /// Returns a task with the result of another one, which completes when the call has entered its instance again. It
    /// may be left unawaited.
    /// </summary>
    public Task<T> ReenterAfterAsync<T>(Task<T> awaited)
    {
        return WaitAsync().Observed();

        async Task<T> WaitAsync()
        {
            try
            {
                return await awaited.ConfigureAwait(false);
            }
            finally
            {
                await ReenterInstanceAsync().ConfigureAwait(false);
            }
        }
    }

    private void Withdraw() =>
        UninterruptibleLock.Run(_reference!, static reference => s_findable.TryRemove(reference, out _));
}

/// <summary>An outgoing call, as the callbacks that the peer makes for it know it.</summary>
internal interface INestedCall
{
    /// <summary>The running call whose method has made this one; null if it is not known.</summary>
    RunningCall? Parent { get; }
}
