namespace RpcOverShm.Scheduling;

/// <summary>
/// What code may leave on its thread: an execution context with its AsyncLocals, a synchronization context. Captured
/// before others' code runs in the middle of something, and put back afterwards.
/// </summary>
internal readonly struct AmbientContext
{
    private static readonly AmbientContext s_clean = CaptureClean();

    private readonly ExecutionContext? _execution;
    private readonly SynchronizationContext? _synchronization;

    private AmbientContext(ExecutionContext? execution, SynchronizationContext? synchronization)
    {
        _execution = execution;
        _synchronization = synchronization;
    }

    public static AmbientContext Capture() => new(ExecutionContext.Capture(), SynchronizationContext.Current);

    public void Restore()
    {
        // None is captured where the thread's context does not flow; then it is the thread's own affair.
        if (_execution is not null && !ReferenceEquals(ExecutionContext.Capture(), _execution))
        {
            ExecutionContext.Restore(_execution);
        }

        if (!ReferenceEquals(SynchronizationContext.Current, _synchronization))
        {
            SynchronizationContext.SetSynchronizationContext(_synchronization);
        }
    }

    /// <summary>
    /// Gives the thread what it has before any user code has run on it. After each run of user code, so that nothing of
    /// one call shows in the next.
    /// </summary>
    public static void RestoreClean() => s_clean.Restore();

    // A thread that was started without its starter's context has the clean one, and there is one of that only.
    private static AmbientContext CaptureClean()
    {
        AmbientContext captured = default;
        var thread = new Thread(() => captured = Capture());
        thread.UnsafeStart();
        thread.Join();
        return captured;
    }
}
