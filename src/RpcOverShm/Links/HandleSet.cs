using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Links;

/// <summary>
/// The handles that the peer has passed together for a call. It is made when their notice comes or a frame names them,
/// whichever is read first. Who takes the handles owns them. If nobody does, they are closed off the caller's thread; a
/// set that is forgotten is found by the garbage collector. Thread-safe.
/// </summary>
/// <param name="onTaken">Stops counting so many handles, which somebody has taken.</param>
/// <param name="close">Closes handles, and stops counting them then. Returns at once.</param>
/// <param name="isNamed">Whether a frame has named the set.</param>
internal sealed class HandleSet(Action<int> onTaken, Action<SafeHandle[]> close, bool isNamed)
{
    private readonly TaskCompletionSource<HandleArrival> _arrival =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private SafeHandle[]? _handles;
    private bool _isUnwanted; // closed before its handles came

    ~HandleSet()
    {
        // The thread of the finalizers waits for no lock.
        if (_handles is not null)
        {
            PoolWork.Queue(static set => set.Close(), this);
        }
    }

    /// <summary>Whether a frame has named the set. Guarded by the owner's lock, as is <see cref="Limit"/>.</summary>
    public bool IsNamed { get; set; } = isNamed;

    /// <summary>The time in which the other half must come.</summary>
    public DueTime? Limit { get; set; }

    /// <summary>Completes when the handles have come, or will not.</summary>
    public Task<HandleArrival> Arrival => _arrival.Task;

    /// <summary>Stores the handles, which the owner has counted. Called once.</summary>
    public void Arrive(SafeHandle[] handles)
    {
        // They are this object's to close: a finalizer of their own would wait for it.
        Array.ForEach(handles, GC.SuppressFinalize);
        Volatile.Write(ref _handles, handles);
        Interlocked.MemoryBarrier(); // StoreLoad: who closes the set sees its handles, or this thread that it is closed
        if (Volatile.Read(ref _isUnwanted))
        {
            Close();
        }

        _arrival.TrySetResult(HandleArrival.Here);
    }

    /// <summary>Ends the wait for handles that do not come.</summary>
    public void Fail(HandleArrival why) => _arrival.TrySetResult(why);

    /// <summary>Takes the handles, once; null if they were taken or closed, or have not come.</summary>
    public SafeHandle[]? TryTake()
    {
        SafeHandle[]? handles = Detach();
        if (handles is not null)
        {
            Array.ForEach(handles, GC.ReRegisterForFinalize);
            onTaken(handles.Length);
        }

        return handles;
    }

    /// <summary>Closes the handles, now or when they come, unless they were taken. Returns at once.</summary>
    public void Close()
    {
        Volatile.Write(ref _isUnwanted, true);
        Interlocked.MemoryBarrier(); // StoreLoad, as in Arrive
        if (Detach() is { } handles)
        {
            close(handles);
        }
    }

    private SafeHandle[]? Detach() => Interlocked.Exchange(ref _handles, null);
}

/// <summary>The fate of handles that a frame has named.</summary>
internal enum HandleArrival : byte
{
    /// <summary>They are here.</summary>
    Here,

    /// <summary>They were closed when they came: this side held too many.</summary>
    Refused,

    /// <summary>They did not come in time.</summary>
    Late,

    /// <summary>The connection ended before they came.</summary>
    ConnectionEnded,
}
