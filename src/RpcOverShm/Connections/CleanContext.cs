namespace RpcOverShm.Connections;

/// <summary>
/// What user code leaves on a thread that goes on with others' work: an execution context with its AsyncLocals, a
/// synchronization context. Taken away after each run, so that nothing of one call shows in the next.
/// </summary>
internal static class CleanContext
{
    private static readonly ExecutionContext s_clean = CaptureClean();

    public static void Restore()
    {
        if (!ReferenceEquals(ExecutionContext.Capture(), s_clean))
        {
            ExecutionContext.Restore(s_clean);
        }

        if (SynchronizationContext.Current is not null)
        {
            SynchronizationContext.SetSynchronizationContext(null);
        }
    }

    // A thread that was started without its starter's context has the clean one, and there is one of that only.
    private static ExecutionContext CaptureClean()
    {
        ExecutionContext? captured = null;
        var thread = new Thread(() => captured = ExecutionContext.Capture());
        thread.UnsafeStart();
        thread.Join();
        return captured!;
    }
}
