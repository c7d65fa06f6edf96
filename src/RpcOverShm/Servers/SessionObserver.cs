namespace RpcOverShm.Servers;

/// <summary>The beginnings and ends of sessions, as the owner of a server hears of them.</summary>
internal abstract class SessionObserver
{
    /// <summary>Whether anybody wants to hear of beginnings: only then does a session wait for them.</summary>
    public abstract bool ObservesBegun { get; }

    /// <summary>Makes the public object of a session.</summary>
    public abstract object Present(ServerSession session);

    /// <summary>Tells that a session begins, before its first call. Runs on the thread pool.</summary>
    public abstract void OnBegun(ServerSession session);

    /// <summary>Tells that a session has ended, and ends it. Runs on the thread pool.</summary>
    public abstract void OnEnded(ServerSession session);
}
