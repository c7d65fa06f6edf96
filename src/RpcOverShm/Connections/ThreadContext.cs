namespace RpcOverShm.Connections;

/// <summary>
/// What code may leave on its thread: an execution context with its AsyncLocals, a synchronization context. Captured
/// before others' code runs in the middle of something, and put back afterwards.
/// </summary>
internal readonly struct ThreadContext
{
    private readonly ExecutionContext? _execution;
    private readonly SynchronizationContext? _synchronization;

    private ThreadContext(ExecutionContext? execution, SynchronizationContext? synchronization)
    {
        _execution = execution;
        _synchronization = synchronization;
    }

    public static ThreadContext Capture() => new(ExecutionContext.Capture(), SynchronizationContext.Current);

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
}
