namespace RpcOverShm.Links;

/// <summary>Starts the threads of links.</summary>
internal static class LinkThread
{
    /// <summary>
    /// Null when the thread runs; else why there is none to be had. The link is to be closed with that, since nobody
    /// would ever look at it, but not under a lock: whoever closes also logs.
    /// </summary>
    /// <param name="run">What it does.</param>
    /// <param name="name">What debuggers show.</param>
    /// <param name="stackBytes">0 for the runtime's own size, which code of users may count on.</param>
    public static CloseReason? Start(ThreadStart run, string name, int stackBytes)
    {
        try
        {
            new Thread(run, stackBytes) { IsBackground = true, Name = name }.UnsafeStart();
            return null;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
        {
            return new CloseReason(CloseKind.InternalError, "No thread could be started.", exception);
        }
    }
}
