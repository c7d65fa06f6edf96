using RpcOverShm.Calls;
using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>
/// A started server: its listener, its clients' connections, and how it comes to an end. Any thread may use it; the
/// front door sees to it that it is stopped once.
/// </summary>
internal sealed class ServerCore
{
    private static readonly CloseReason s_stopped = new(CloseKind.Local, "The server was stopped.");

    private readonly ServerSettings _settings;
    private readonly Lock _gate = new();
    private readonly HashSet<ServerConnection> _connections = [];
    private readonly Listener _listener;
    private bool _isStopping;
    private long _accepted; // connections so far

    /// <summary>Listens from here on.</summary>
    /// <exception cref="ConnectException">The address is held, or the system refused a step.</exception>
    public ServerCore(RendezvousAddress address, ConnectionSettings connectionSettings, ServerSettings settings)
    {
        _settings = settings;
        _listener = Listener.Start(address, connectionSettings, OnConnected);
    }

    /// <summary>The connections that are open. For tests and diagnosis.</summary>
    public IReadOnlyList<ServerConnection> Connections
    {
        get
        {
            lock (_gate)
            {
                return [.. _connections];
            }
        }
    }

    /// <summary>
    /// Stops in order: no more clients, no new calls, then the running methods may end in their time. What still runs
    /// after that is cancelled, and its clients see that the server has gone.
    /// </summary>
    /// <param name="grace">How long methods may go on; infinite for as long as they take.</param>
    /// <param name="hurry">Cuts the time short.</param>
    public async Task StopAsync(TimeSpan grace, CancellationToken hurry)
    {
        ServerConnection[] connections = BeginStop();
        await _listener.DisposeAsync().ConfigureAwait(false);
        foreach (ServerConnection connection in connections)
        {
            connection.StopAccepting();
        }

        Task idle = Task.WhenAll(connections.Select(connection => connection.WhenIdleAsync()));
        await WaitAsync(idle, grace, hurry).ConfigureAwait(false);
        foreach (ServerConnection connection in connections)
        {
            connection.EndAllCalls(StatusMapping.ServerStopping);
        }

        // The last answers may still be on their way into full rings. A client that does not read
        // them is not waited for.
        Task flushed = Task.WhenAll(
            connections.Select(connection => connection.Connection.WhenIncomingCallsEndAsync()));
        await WaitAsync(flushed, WaitBounds.SafetyTimeout, CancellationToken.None).ConfigureAwait(false);
        await CloseAsync(connections).ConfigureAwait(false);
    }

    /// <summary>Stops at once: running calls are cancelled and end Unavailable.</summary>
    public Task KillAsync() => StopAsync(TimeSpan.Zero, CancellationToken.None);

    private static async Task CloseAsync(ServerConnection[] connections)
    {
        foreach (ServerConnection connection in connections)
        {
            connection.Connection.Close(s_stopped);
        }

        await Task.WhenAll(connections.Select(connection => connection.Connection.Closed)).ConfigureAwait(false);
    }

    private static async Task WaitAsync(Task task, TimeSpan longest, CancellationToken hurry)
    {
        try
        {
            await task.WaitAsync(longest, hurry).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is TimeoutException or OperationCanceledException)
        {
            // The time is up: the caller goes on.
        }
    }

    private ServerConnection[] BeginStop()
    {
        lock (_gate)
        {
            _isStopping = true;
            return [.. _connections];
        }
    }

    private void OnConnected(PeerLink link)
    {
        var connection = new ServerConnection(link, Interlocked.Increment(ref _accepted), _settings);
        bool isRequested;
        lock (_gate)
        {
            isRequested = !_isStopping;
            if (isRequested)
            {
                _connections.Add(connection);
            }
        }

        connection.Connection.Start();
        if (isRequested)
        {
            _ = ForgetWhenClosedAsync(connection);
        }
        else
        {
            connection.StopAccepting();
            connection.Connection.Close(s_stopped);
        }
    }

    private async Task ForgetWhenClosedAsync(ServerConnection connection)
    {
        await connection.Connection.Closed.ConfigureAwait(false);
        lock (_gate)
        {
            _connections.Remove(connection);
        }
    }
}
