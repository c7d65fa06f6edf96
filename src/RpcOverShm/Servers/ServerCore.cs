using System.Diagnostics;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Servers;

/// <summary>
/// A started server: its listener, its connections and its orderly stop. Thread-safe; ShmServer ensures that it is
/// stopped only once.
/// </summary>
internal sealed class ServerCore
{
    private static readonly CloseReason s_stopped = new(CloseKind.Local, "The server was stopped.");

    private readonly ServerSettings _settings;
    private readonly SharedLimits _shared;
    private readonly UninterruptibleLock _lock = new();
    private readonly HashSet<ServerConnection> _connections = [];
    private readonly SessionHandler _sessionHandler;
    private readonly IdleTimer? _idleTimer;
    private readonly StatisticsReaders _statistics;
    private readonly Listener _listener;
    private long _startedSessions;
    private bool _isStopping;

    /// <summary>Starts to listen.</summary>
    /// <exception cref="ConnectException">The address is in use, or a system call failed.</exception>
    public ServerCore(
        RendezvousAddress address,
        ConnectionSettings connectionSettings,
        ServerSettings settings,
        SessionHandler sessionHandler)
    {
        _settings = settings;
        _sessionHandler = sessionHandler;
        _shared = new SharedLimits(settings.Limits);
        _idleTimer = settings.IdleTimeout is { } timeout ? new IdleTimer(timeout, CheckIdle) : null;
        _statistics = new StatisticsReaders(connectionSettings, CollectStatistics, EndStatistics);
        _listener = Listener.Start(
            address, connectionSettings with { OnStatisticsWanted = _statistics.Answer }, OnConnected);
        _idleTimer?.Start();
    }

    /// <summary>The open connections, and closed ones with one-way calls, for tests and diagnosis.</summary>
    public IReadOnlyList<ServerConnection> Connections
    {
        get
        {
            using (_lock.Enter())
            {
                return [.. _connections];
            }
        }
    }

    /// <summary>The place in the system at which clients find the server.</summary>
    public string Place => _listener.Place;

    /// <summary>The bytes that clients make the server keep.</summary>
    public BufferBudget BufferBudget => _shared.BufferBudget;

    /// <summary>
    /// Returns the sessions whose connections are open, in the order in which they started. A connection that was
    /// closed stays in the list for its one-way calls, but its session has ended.
    /// </summary>
    public IEnumerable<ServerSession> OpenSessions() =>
        from connection in Connections
        let session = connection.Session!
        where session.Connection.CloseReason is null
        orderby session.Number
        select session;

    /// <summary>
    /// Checks all sessions once and sends a GoAway to those without a call for the idle timeout. Calls that cross the
    /// GoAway are served. The client closes its connection when they have ended.
    /// </summary>
    public void CheckIdle()
    {
        List<ServerSession> idle = [];
        using (_lock.Enter())
        {
            foreach (ServerConnection connection in _isStopping ? [] : _connections)
            {
                if (connection.Session!.CheckIdle())
                {
                    idle.Add(connection.Session);
                }
            }
        }

        foreach (ServerSession session in idle)
        {
            ShmLog.SessionIdle(_settings.Logger, session.PeerName);
            session.Connection.Sender.SendGoAway();
        }
    }

    /// <summary>
    /// Stops the server gracefully: accepts no more clients, refuses new calls, and lets running methods finish.
    /// <paramref name="graceEnded"/> ends the grace period; then the remaining methods are cancelled and the
    /// connections are closed.
    /// </summary>
    public async Task StopAsync(CancellationToken graceEnded)
    {
        // The listener ends first: a client that it still accepts then gets a GoAway like any other.
        await _listener.DisposeAsync().ConfigureAwait(false);
        ServerConnection[] connections = BeginStop();
        foreach (ServerConnection connection in connections)
        {
            connection.StopAccepting();
        }

        Task idle = Task.WhenAll(connections.Select(connection => connection.WhenIdleAsync()));
        await WaitAtMostAsync(idle, Timeout.InfiniteTimeSpan, graceEnded).ConfigureAwait(false);
        await WaitForClientsAsync(connections, graceEnded).ConfigureAwait(false);
        foreach (ServerConnection connection in connections)
        {
            connection.EndAllCalls(StatusMapping.ServerStopping);
        }

        // The last responses may still wait for space in a full ring. The timeout is for a client that does not read.
        Task flushed = Task.WhenAll(
            connections.Select(connection => connection.Connection.WhenIncomingCallsEndAsync()));
        await WaitAtMostAsync(flushed, WaitBounds.SafetyTimeout, CancellationToken.None).ConfigureAwait(false);
        await CloseAsync(connections).ConfigureAwait(false);
        _statistics.Stop();

        // Wait for the handlers of the user for the ends of sessions.
        Task sessionsEnded = Task.WhenAll(connections.Select(one => one.SessionEnded));
        await WaitAtMostAsync(sessionsEnded, Timeout.InfiniteTimeSpan, graceEnded).ConfigureAwait(false);
        await ReleaseAsync(connections, graceEnded).ConfigureAwait(false);
    }

    private StatisticsPage CollectStatistics(int mostRows)
    {
        ServerConnection[] open =
        [
            .. Connections.Where(one => one.Connection.CloseReason is null).OrderBy(one => one.Session!.Number),
        ];
        ServerConnection[] shown = [.. open.Take(mostRows)];
        Array.ForEach(shown, one => one.BeginStatistics());

        // The clock of the time stamps is CLOCK_MONOTONIC, and begins at 0.
        long now = (long)Stopwatch.GetElapsedTime(0).TotalNanoseconds;
        return new StatisticsPage(now, open.Length, [.. shown.Select(one => one.GetStatistics())]);
    }

    private void EndStatistics()
    {
        foreach (ServerConnection connection in Connections)
        {
            connection.EndStatistics();
        }
    }

    // A call that crosses the GoAway must be read and refused, so that its client retries it on another connection;
    // after a close the client would not know whether it ran. A client closes its connection when it has read the
    // GoAway and its calls have ended. The timeout is for clients that do not read. One-way calls that crossed the
    // GoAway may run for the rest of the grace period.
    private static async Task WaitForClientsAsync(ServerConnection[] connections, CancellationToken graceEnded)
    {
        Task closed = Task.WhenAll(connections.Select(connection => connection.Connection.Closed));
        await WaitAtMostAsync(closed, WaitBounds.SafetyTimeout, graceEnded).ConfigureAwait(false);
        Task oneWayCallsEnded = Task.WhenAll(connections.Select(connection => connection.WhenNoOneWayAsync()));
        await WaitAtMostAsync(oneWayCallsEnded, Timeout.InfiniteTimeSpan, graceEnded).ConfigureAwait(false);
    }

    // Waits for the release of instances, and for a short time even after the grace period. A method that ignores its
    // token, or a release in user code, may take longer; its instance is released later.
    private async Task ReleaseAsync(ServerConnection[] connections, CancellationToken graceEnded)
    {
        Task sessionInstances = Task.WhenAll(connections.Select(one => one.Session!.Released));
        await WaitAtMostAsync(sessionInstances, Timeout.InfiniteTimeSpan, graceEnded).ConfigureAwait(false);
        await WaitAtMostAsync(sessionInstances, WaitBounds.SafetyTimeout, CancellationToken.None).ConfigureAwait(false);
        Task serverInstances = _settings.Instances.EndAsync(_settings.Logger);
        await WaitAtMostAsync(serverInstances, Timeout.InfiniteTimeSpan, graceEnded).ConfigureAwait(false);
        await WaitAtMostAsync(serverInstances, WaitBounds.SafetyTimeout, CancellationToken.None).ConfigureAwait(false);
    }

    private static async Task CloseAsync(ServerConnection[] connections)
    {
        foreach (ServerConnection connection in connections)
        {
            connection.Connection.Close(s_stopped);
        }

        await Task.WhenAll(connections.Select(connection => connection.Connection.Closed)).ConfigureAwait(false);
    }

    private static async Task WaitAtMostAsync(Task task, TimeSpan longest, CancellationToken graceEnded)
    {
        try
        {
            await task.WaitAsync(longest, graceEnded).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is TimeoutException or OperationCanceledException)
        {
            // The caller continues after the timeout, or after the grace period.
        }
    }

    private ServerConnection[] BeginStop()
    {
        using (_lock.Enter())
        {
            _isStopping = true;
            _idleTimer?.Stop();
            return [.. _connections];
        }
    }

    private void OnConnected(PeerLink link)
    {
        var connection = new ServerConnection(link, _settings, _shared);
        bool isAccepted;
        using (_lock.Enter())
        {
            isAccepted = !_isStopping;
            if (isAccepted)
            {
                connection.Session = new ServerSession(connection, ++_startedSessions, _sessionHandler.CreateView);
                _connections.Add(connection);
            }
        }

        if (!isAccepted)
        {
            connection.StopAccepting();
            connection.EndAllCalls(StatusMapping.ServerStopping);
            connection.Connection.Start();
            PoolWork.Queue(static one => one.Connection.Close(s_stopped), connection);
            return;
        }

        ServerSession session = connection.Session!;
        ProcessCounts.Sessions.Add();
        if (_sessionHandler.HasStartHandlers)
        {
            using (ExecutionContext.SuppressFlow())
            {
                session.Started = Task.Run(() => _sessionHandler.OnStarted(session));
            }
        }

        connection.SessionEnded = EndSessionWhenClosedAsync(connection, session);
        connection.Connection.Start();
    }

    private async Task EndSessionWhenClosedAsync(ServerConnection connection, ServerSession session)
    {
        await connection.Connection.Closed.ConfigureAwait(false);
        _ = RemoveWhenOrphansEndAsync(connection);
        ProcessCounts.Sessions.Remove();
        await session.Started.ConfigureAwait(false);
        await _sessionHandler.OnEndedAsync(session).ConfigureAwait(false);
    }

    // A closed connection stays in the list until its one-way calls have ended, so that a stop can end them.
    private async Task RemoveWhenOrphansEndAsync(ServerConnection connection)
    {
        await connection.WhenOrphansEndAsync().ConfigureAwait(false);
        using (_lock.Enter())
        {
            _connections.Remove(connection);
        }
    }
}
