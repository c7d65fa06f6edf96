namespace RpcOverShm.Servers;

/// <summary>
/// Handles the start and the end of each session of a server, and creates the public object of a session.
/// </summary>
internal abstract class SessionHandler
{
    /// <summary>Whether there are handlers for the start of a session.</summary>
    public abstract bool HasStartHandlers { get; }

    /// <summary>Creates the public object of a session.</summary>
    public abstract object CreateView(ServerSession session);

    /// <summary>Handles the start of a session, on the thread pool.</summary>
    public abstract void OnStarted(ServerSession session);

    /// <summary>Ends a session whose connection is closed and handles its end, on the thread pool.</summary>
    public abstract Task OnEndedAsync(ServerSession session);
}
