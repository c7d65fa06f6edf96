using System.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// An event that one thread of this process sleeps on. It remembers a signal that comes before the wait, so no signal
/// is lost. Each thread that blocks for calls reuses one latch for all of them; a stale signal costs one extra check.
/// </summary>
internal sealed class AutoResetLatch
{
    // The values of the state. A signal wakes the thread only if that sleeps.
    private const uint None = 0;
    private const uint Signalled = 1;
    private const uint Sleeping = 2;

    [ThreadStatic]
    private static AutoResetLatch? s_ofThisThread;

    private readonly LocalWord _state = new();
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
        if (Interlocked.Exchange(ref _state.Value, Signalled) == Sleeping)
        {
            _state.Wake();
        }

        // StoreLoad: the exchange is a fence. A long wait stores its task, fences, and checks for a signal.
        CompleteLongWait();
    }

    /// <summary>
    /// Waits for a signal and takes it, or returns when the time has passed. If that takes longer than
    /// <see cref="WaitBounds.MaxFastWait"/>, it becomes a <see cref="WaitLong"/>. A time of zero or less has passed.
    /// </summary>
    /// <exception cref="ThreadInterruptedException">
    /// The thread was interrupted, and the wait has become long. A short one leaves that to the thread's next wait.
    /// </exception>
    public void Wait(TimeSpan longest)
    {
        bool isShort = longest <= WaitBounds.MaxFastWait;
        if (!Sleep(isShort ? longest : WaitBounds.MaxFastWait) && !isShort)
        {
            WaitLong(longest - WaitBounds.MaxFastWait);
        }
    }

    /// <summary>
    /// Waits as the other method does, but for a task: of all waits, .NET tells its thread pool of that one alone.
    /// Blocked threads of the pool then make it add others.
    /// </summary>
    /// <exception cref="ThreadInterruptedException">The thread was interrupted.</exception>
    public void WaitLong(TimeSpan longest)
    {
        var signal = new TaskCompletionSource();
        Interlocked.Exchange(ref _signal, signal);
        try
        {
            if (!IsSignalled)
            {
                signal.Task.Wait(longest);
            }
        }
        finally
        {
            Volatile.Write(ref _signal, null);
            Clear();
        }
    }

    /// <summary>
    /// Discards an earlier signal. The caller must check its condition afterwards, or it may miss what was signalled.
    /// </summary>
    public void Clear() => Interlocked.Exchange(ref _state.Value, None);

    /// <summary>Whether a signal waits to be taken. For spinning.</summary>
    public bool IsSignalled => Volatile.Read(ref _state.Value) == Signalled;

    /// <summary>Takes a signal, which may come before the time has passed. Returns whether there was one.</summary>
    private bool Sleep(TimeSpan longest)
    {
        long begun = Stopwatch.GetTimestamp();
        uint before = Interlocked.CompareExchange(ref _state.Value, Sleeping, None);
        for (TimeSpan left = longest; before != Signalled && left > TimeSpan.Zero;)
        {
            _state.Wait(Sleeping, left);
            before = Volatile.Read(ref _state.Value);
            left = longest - Stopwatch.GetElapsedTime(begun);
        }

        return Interlocked.Exchange(ref _state.Value, None) == Signalled;
    }

    private void CompleteLongWait()
    {
        try
        {
            Volatile.Read(ref _signal)?.TrySetResult();
        }
        catch (ThreadInterruptedException)
        {
            // It is set, but its lock was taken, and this thread interrupted: the waiter sees it at its timeout.
            Thread.CurrentThread.Interrupt();
        }
    }
}
