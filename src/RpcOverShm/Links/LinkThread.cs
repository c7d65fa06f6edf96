namespace RpcOverShm.Links;

/// <summary>Starts the background threads of links.</summary>
internal static class LinkThread
{
    /// <summary>
    /// Starts a thread. Returns null on success, else the reason with which the caller must close the link, because no
    /// thread would serve it. The caller must close it outside of its locks, because closing runs the user's logger. A
    /// stack size of 0 is the runtime's default, which a thread that runs user code needs.
    /// </summary>
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
