namespace RpcOverShm.Connections;

/// <summary>Starts the threads of links. A link that gets none is closed: nobody would ever look at it.</summary>
internal static class LinkThread
{
    /// <summary>False when there is no thread to be had; the link is closed then.</summary>
    /// <param name="link">Whose thread it is.</param>
    /// <param name="run">What it does.</param>
    /// <param name="name">What debuggers show.</param>
    /// <param name="stackBytes">0 for the runtime's own size, which code of users may count on.</param>
    public static bool TryStart(PeerLink link, ThreadStart run, string name, int stackBytes)
    {
        try
        {
            new Thread(run, stackBytes) { IsBackground = true, Name = name }.UnsafeStart();
            return true;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
        {
            link.Close(new CloseReason(CloseCause.InternalError, "No thread could be started.", exception));
            return false;
        }
    }
}
