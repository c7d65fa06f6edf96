using RpcOverShm.Connections;
using RpcOverShm.Links;

namespace RpcOverShm.Servers;

/// <summary>
/// The sessions of a server by channel and process: a channel's id proves nothing, but the kernel names the process, so
/// the connections of a session are of one process. Its owner serialises the calls.
/// </summary>
internal sealed class SessionTable(SessionObserver observer)
{
    private readonly Dictionary<(Guid Key, PeerIdentity Peer), ServerSession> _sessions = [];
    private long _begun; // sessions so far

    /// <summary>Adds a connection to its session. Returns whether the session begins with it.</summary>
    public bool Join(ServerConnection joining)
    {
        // A connection of a client that names no channel is a session of its own.
        Connection connection = joining.Connection;
        Guid key = connection.ChannelId == Guid.Empty ? connection.Id : connection.ChannelId;
        bool isKnown = _sessions.TryGetValue((key, connection.Peer), out ServerSession? session);
        if (session is null)
        {
            session = new ServerSession(key, connection.Peer, ++_begun, observer.Present);
            _sessions.Add((key, connection.Peer), session);
        }

        session.Add(joining);
        joining.Session = session;
        return !isKnown;
    }

    /// <summary>Removes a closed connection from its session. Returns the session if it has ended with that.</summary>
    public ServerSession? Leave(ServerConnection connection)
    {
        ServerSession session = connection.Session!;
        if (!session.Remove(connection))
        {
            return null;
        }

        _sessions.Remove((session.Key, session.Peer));
        return session;
    }
}
