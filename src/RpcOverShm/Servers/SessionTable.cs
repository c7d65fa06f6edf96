using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;

namespace RpcOverShm.Servers;

/// <summary>
/// The sessions of a server by channel and process: a channel's id proves nothing, but the kernel names the process, so
/// the connections of a session are of one process. From Linux 6.9 on, another one that gets the id of a dead process
/// is told from that. Its owner serialises the calls.
/// </summary>
internal sealed class SessionTable(SessionObserver observer)
{
    private readonly Dictionary<(Guid Key, ClientProcess Client), ServerSession> _sessions = [];
    private long _started; // sessions so far

    /// <summary>Adds a connection to its session. Returns whether the session starts with it.</summary>
    public bool Join(ServerConnection joining)
    {
        // A connection is a session of its own if its client names no channel, or if the kernel does not name its
        // process: that is 0 for all processes of foreign pid namespaces.
        Connection connection = joining.Connection;
        bool isAlone = connection.ChannelId == Guid.Empty || connection.Peer.ProcessId == 0;
        Guid key = isAlone ? connection.Id : connection.ChannelId;
        bool isKnown = _sessions.TryGetValue((key, connection.Client), out ServerSession? session);
        if (session is null)
        {
            session = new ServerSession(key, connection.Peer, ++_started, observer.CreateView);
            _sessions.Add((key, connection.Client), session);
            ProcessCounts.Sessions.Add();
        }

        session.Add(joining);
        joining.Session = session;
        return !isKnown;
    }

    /// <summary>Removes a closed connection from its session. Returns whether the session ends with that.</summary>
    public bool Leave(ServerConnection leaving)
    {
        ServerSession session = leaving.Session!;
        if (!session.Remove(leaving) || !_sessions.Remove((session.Key, leaving.Connection.Client)))
        {
            return false;
        }

        ProcessCounts.Sessions.Remove();
        return true;
    }
}
