namespace RpcOverShm.Scheduling;

/// <summary>
/// What one thread sleeps on inside this process: remembers a signal that comes before the wait, so that it
/// cannot be lost. A thread that blocks for a call has one of its own, used for one call after the other; a stale
/// signal costs it one look.
/// </summary>
internal sealed class AutoResetLatch
{
    [ThreadStatic]
    private static AutoResetLatch? s_ofThisThread;

    private readonly object _gate = new();
    private bool _isSignalled;

    /// <summary>The latch of the calling thread.</summary>
    public static AutoResetLatch OfThisThread => s_ofThisThread ??= new AutoResetLatch();

    public void Signal()
    {
        lock (_gate)
        {
            _isSignalled = true;
            Monitor.Pulse(_gate);
        }
    }

    /// <summary>Waits for a signal, takes it, and returns; or returns when the time has passed.</summary>
    public void Wait(TimeSpan longest)
    {
        lock (_gate)
        {
            if (!_isSignalled)
            {
                Monitor.Wait(_gate, longest);
            }

            _isSignalled = false;
        }
    }

    /// <summary>Takes a signal that may have come. Before the look that the signal was to cause.</summary>
    public void Clear()
    {
        lock (_gate)
        {
            _isSignalled = false;
        }
    }

    /// <summary>True when a signal waits to be taken. A look without the lock, for spinning.</summary>
    public bool IsSignalled => Volatile.Read(ref _isSignalled);
}
