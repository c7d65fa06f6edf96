using RpcOverShm.Scheduling;

namespace RpcOverShm.Links;

/// <summary>Starts the background threads of links.</summary>
internal static class LinkThread
{
    /// <summary>
    /// Starts a thread. Returns null on success, else the reason: the caller then uses the thread pool, or closes the
    /// link outside of its locks, because closing runs the user's logger. A stack size of 0 is the runtime's default,
    /// which a thread that runs user code needs.
    /// </summary>
    public static CloseReason? Start(ThreadStart run, string name, int stackBytes)
    {
        try
        {
            new Thread(() => RunClean(run), stackBytes) { IsBackground = true, Name = name }.UnsafeStart();
            return null;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
        {
            return new CloseReason(CloseKind.InternalError, "No thread could be started.", exception);
        }
    }

    private static void RunClean(ThreadStart run)
    {
        AmbientContext.CaptureClean();
        run();
    }
}
