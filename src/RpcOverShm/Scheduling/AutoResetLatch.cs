using RpcOverShm.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// An event that one thread of this process sleeps on. It remembers a signal that comes before the wait, so no signal
/// is lost. Each thread that blocks for calls reuses one latch for all of them; a stale signal costs one extra check.
/// </summary>
internal sealed class AutoResetLatch
{
    [ThreadStatic]
    private static AutoResetLatch? s_ofThisThread;

    private readonly Gate _gate = new();
    private bool _isSignalled;
    private TaskCompletionSource? _signal; // of a thread in a long wait
    private BlockedThreadQueue? _queue;
    private volatile Action? _alarm;

    /// <summary>The latch of the calling thread.</summary>
    public static AutoResetLatch OfThisThread => s_ofThisThread ??= new AutoResetLatch();

    /// <summary>Whether work waits for the thread of this latch.</summary>
    public bool HasWork => Volatile.Read(ref _queue) is { HasAny: true };

    /// <summary>Moves the work of a call to the thread pool: the thread waits for that call no longer.</summary>
    public void LeaveWork(object owner) => Volatile.Read(ref _queue)?.MoveToPool(owner);

    /// <summary>The work that the thread of this latch runs while it is blocked.</summary>
    public BlockedThreadQueue Queue =>
        Volatile.Read(ref _queue)
        ?? Interlocked.CompareExchange(ref _queue, new BlockedThreadQueue(), null)
        ?? _queue!;

    /// <summary>
    /// The way to wake the thread while it sleeps elsewhere than on the latch; null while it does not. The thread sets
    /// it and then checks for work; a thread that adds work calls <see cref="Wake"/> afterwards.
    /// </summary>
    public Action? Alarm
    {
        get => _alarm;
        set => _alarm = value;
    }

    /// <summary>Wakes the thread of this latch for its work, wherever it sleeps. Does nothing on that thread.</summary>
    public void Wake()
    {
        if (this != s_ofThisThread)
        {
            Signal();
            _alarm?.Invoke();
        }
    }

    public void Signal()
    {
        using (_gate.Enter())
        {
            _isSignalled = true;
            _gate.Pulse();
            CompleteLongWait();
        }
    }

    /// <summary>
    /// Waits for a signal and takes it, or returns when the time has passed. If that takes longer than
    /// <see cref="WaitBounds.Patience"/>, it becomes a <see cref="WaitLong"/>.
    /// </summary>
    /// <exception cref="ThreadInterruptedException">The thread was interrupted.</exception>
    public void Wait(TimeSpan longest)
    {
        bool isShort = longest <= WaitBounds.Patience;
        using (_gate.Enter())
        {
            if (_isSignalled || _gate.Wait(isShort ? longest : WaitBounds.Patience) || isShort)
            {
                _isSignalled = false;
                return;
            }
        }

        WaitLong(longest - WaitBounds.Patience);
    }

    /// <summary>
    /// Waits as the other method does, but for a task: of all waits, .NET tells its thread pool of that one alone.
    /// Blocked threads of the pool then make it add others.
    /// </summary>
    /// <exception cref="ThreadInterruptedException">The thread was interrupted.</exception>
    public void WaitLong(TimeSpan longest)
    {
        Task? signal = null;
        using (_gate.Enter())
        {
            if (!_isSignalled)
            {
                _signal = new TaskCompletionSource();
                signal = _signal.Task;
            }
        }

        try
        {
            signal?.Wait(longest);
        }
        finally
        {
            using (_gate.Enter())
            {
                _signal = null;
                _isSignalled = false;
            }
        }
    }

    // Under the gate.
    private void CompleteLongWait()
    {
        try
        {
            _signal?.TrySetResult();
        }
        catch (ThreadInterruptedException)
        {
            // It is set, but its lock was taken, and this thread interrupted: the waiter sees it at its timeout.
            Thread.CurrentThread.Interrupt();
        }
    }

    /// <summary>
    /// Discards an earlier signal. The caller must check its condition afterwards, or it may miss what was signalled.
    /// </summary>
    public void Clear()
    {
        using (_gate.Enter())
        {
            _isSignalled = false;
        }
    }

    /// <summary>Whether a signal waits to be taken. Read without the lock, for spinning.</summary>
    public bool IsSignalled => Volatile.Read(ref _isSignalled);
}
