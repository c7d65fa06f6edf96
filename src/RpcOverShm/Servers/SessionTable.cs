using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;

namespace RpcOverShm.Servers;

/// <summary>
/// The sessions of a server by channel and process: a channel's id proves nothing, but the kernel names the process, so
/// the connections of a session are of one process. Its owner serialises the calls.
/// </summary>
internal sealed class SessionTable(SessionObserver observer)
{
    private readonly Dictionary<(Guid Key, PeerIdentity Peer), ServerSession> _sessions = [];
    private long _started; // sessions so far

    /// <summary>Adds a connection to its session. Returns whether the session starts with it.</summary>
    public bool Join(ServerConnection joining)
    {
        // A connection is a session of its own if its client names no channel, or if the kernel does not name its
        // process: that is 0 for all processes of foreign pid namespaces.
        Connection connection = joining.Connection;
        bool isAlone = connection.ChannelId == Guid.Empty || connection.Peer.ProcessId == 0;
        Guid key = isAlone ? connection.Id : connection.ChannelId;
        bool isKnown = _sessions.TryGetValue((key, connection.Peer), out ServerSession? session);
        if (session is null)
        {
            session = new ServerSession(key, connection.Peer, ++_started, observer.CreateView);
            _sessions.Add((key, connection.Peer), session);
            ProcessCounts.Sessions.Add();
        }

        session.Add(joining);
        joining.Session = session;
        return !isKnown;
    }

    /// <summary>Removes a closed connection from its session. Returns whether the session ends with that.</summary>
    public bool Leave(ServerConnection connection)
    {
        ServerSession session = connection.Session!;
        if (!session.Remove(connection) || !_sessions.Remove((session.Key, session.Peer)))
        {
            return false;
        }

        ProcessCounts.Sessions.Remove();
        return true;
    }
}
