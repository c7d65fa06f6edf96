using System.Collections.Concurrent;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The running call of a server or of a channel's callbacks, as a part of its method's ExecutionContext. A call that
/// the method makes names it as its parent. It is set only where such a call may have to wait, or may be a callback, so
/// other calls pay nothing.
/// </summary>
internal sealed class RunningCall
{
    private static readonly AsyncLocal<RunningCall?> s_current = new();
    private static readonly ConcurrentDictionary<ParentCall, RunningCall> s_named = new();
    private static volatile bool s_isUsed;

    private volatile ConnectionCall? _call; // null after the end
    private ParentCall? _name;              // made by the first call of the method that needs it
    private volatile bool _isNamed;
    private volatile bool _isLent;

    /// <summary>Makes a call known to those of its method.</summary>
    /// <param name="call">The call.</param>
    /// <param name="server">The gate of the server, or of the channel's callbacks.</param>
    /// <param name="parent">The running call of this side that is next in front of the call in its chain.</param>
    public RunningCall(ConnectionCall call, CallGate server, RunningCall? parent = null)
    {
        _call = call;
        Server = server;
        Parent = parent;
        Depth = call.Depth;
    }

    /// <summary>The call whose method runs in this context; null if none is known or the method has ended.</summary>
    public static RunningCall? Current => s_isUsed && s_current.Value is { HasEnded: false } current ? current : null;

    /// <summary>The number of calls in front of the call in its chain of calls and callbacks.</summary>
    public int Depth { get; }

    public RunningCall? Parent { get; }

    /// <summary>The call at the gate of its instance; null if that has none. Set before the method runs.</summary>
    public GateTicket? Ticket { get; set; }

    /// <summary>Whether a call may have passed a gate in this one's name.</summary>
    public bool IsLent => _isLent;

    /// <summary>The name of the call; null if it has ended.</summary>
    public ParentCall? Name
    {
        get
        {
            if (_name is null && _call?.Name is { } made)
            {
                Interlocked.CompareExchange(ref _name, made, null);
            }

            return _name;
        }
    }

    /// <summary>The gate of the server of the call, or of the channel's callbacks.</summary>
    public CallGate Server { get; }

    private bool HasEnded => _call is null;

    /// <summary>
    /// Returns the running call of a name, which a nested call has told to a server of this process; null if the server
    /// runs none.
    /// </summary>
    public static RunningCall? Find(ParentCall name, CallGate server) =>
        s_named.TryGetValue(name, out RunningCall? call) && call.Server == server && !call.HasEnded ? call : null;

    /// <summary>Makes a call known to the code that this thread runs next, until its context is restored.</summary>
    public static void Set(RunningCall call)
    {
        s_isUsed = true;
        s_current.Value = call;
    }

    /// <summary>Lets servers of this process find the call by its name.</summary>
    public void Publish()
    {
        if (_isNamed || Name is not { } name)
        {
            return;
        }

        // Noted afterwards: another call of the method then finds the name there.
        Gate.Uninterrupted((name, this), static add => s_named[add.name] = add.Item2);
        _isNamed = true;

        // StoreLoad: the name is there before this thread looks for the end; End does both in the other order.
        Interlocked.MemoryBarrier();
        if (HasEnded)
        {
            Withdraw();
        }
    }

    /// <summary>Lends the name to a call that passes a gate. Returns false if this call has ended.</summary>
    public bool TryLend()
    {
        _isLent = true;
        Interlocked.MemoryBarrier(); // StoreLoad: lent before it looks for the end; End looks afterwards.
        return !HasEnded;
    }

    /// <summary>
    /// Notes that the method has ended: nobody passes in its name any more. A task that it left behind makes calls of
    /// its own.
    /// </summary>
    public void End()
    {
        Interlocked.Exchange(ref _call, null);
        if (_isNamed)
        {
            Withdraw();
        }
    }

    /// <summary>Returns the nearest call in front of this one at the gate of an instance; null for none.</summary>
    public RunningCall? FindAbove(CallGate gate)
    {
        RunningCall? above = Parent;
        while (above is not null && above.Ticket?.Gate != gate)
        {
            above = above.Parent;
        }

        return above;
    }

    /// <summary>Lets other calls run on the instance while the method waits for a callback.</summary>
    public void LetGo() => Ticket?.Gate!.LetGo(Ticket, this);

    /// <summary>
    /// Takes the instance again. Does not fail. Completes at once if the call has let nothing go, or has ended.
    /// </summary>
    public Task TakeAgainAsync() =>
        Ticket is not { } ticket || ticket.Gate!.TakeAgain(ticket) ? Task.CompletedTask : ticket.Granted;

    /// <summary>Completes as a task does, once the call has its instance again. It may be left unawaited.</summary>
    public Task<T> ReturnAsync<T>(Task<T> awaited)
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
                await TakeAgainAsync().ConfigureAwait(false);
            }
        }
    }

    private void Withdraw() => Gate.Uninterrupted(_name!, static name => s_named.TryRemove(name, out _));
}

/// <summary>An outgoing call, as the callbacks that the peer makes for it know it.</summary>
internal interface ICallOfMethod
{
    /// <summary>The running call whose method has made this one; null if it is not known.</summary>
    RunningCall? Maker { get; }
}
