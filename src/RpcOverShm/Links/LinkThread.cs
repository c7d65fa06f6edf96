using RpcOverShm.Diagnostics;
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
        return BackgroundThread.TryStart(() => RunClean(run), name, stackBytes) is { } exception
            ? new CloseReason(
                CloseKind.NoResources,
                "No thread could be started: raise the limit of threads or processes (RLIMIT_NPROC, pids.max).",
                exception)
            : null;
    }

    private static void RunClean(ThreadStart run)
    {
        AmbientContext.CaptureClean();
        run();
    }
}
