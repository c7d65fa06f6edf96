namespace RpcOverShm.Scheduling;

/// <summary>
/// An event that one thread of this process sleeps on. It remembers a signal that comes before the wait, so no signal
/// is lost. Each thread that blocks for calls reuses one latch for all of them; a stale signal costs one extra check.
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

    /// <summary>Waits for a signal and takes it, or returns when the time has passed.</summary>
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

    /// <summary>
    /// Discards an earlier signal. The caller must check its condition afterwards, or it may miss what was signalled.
    /// </summary>
    public void Clear()
    {
        lock (_gate)
        {
            _isSignalled = false;
        }
    }

    /// <summary>Whether a signal waits to be taken. Read without the lock, for spinning.</summary>
    public bool IsSignalled => Volatile.Read(ref _isSignalled);
}
