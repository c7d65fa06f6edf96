namespace RpcOverShm.Connections;

/// <summary>
/// What a thread has on which no user code has run. Given back to one that goes on with others' work after each run, so
/// that nothing of one call shows in the next.
/// </summary>
internal static class CleanContext
{
    private static readonly ThreadContext s_clean = CaptureClean();

    public static void Restore() => s_clean.Restore();

    // A thread that was started without its starter's context has the clean one, and there is one of that only.
    private static ThreadContext CaptureClean()
    {
        ThreadContext captured = default;
        var thread = new Thread(() => captured = ThreadContext.Capture());
        thread.UnsafeStart();
        thread.Join();
        return captured;
    }
}
