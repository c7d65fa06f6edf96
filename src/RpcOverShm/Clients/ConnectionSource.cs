using RpcOverShm.Connections;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// The one connection of a channel: made when a call needs it, shared by all calls, made anew after it was lost or the
/// server has announced that it is leaving. Callers that come while it is being made wait for the same attempt. Any
/// thread may use it; the channel disposes it.
/// </summary>
internal sealed class ConnectionSource(
    RendezvousAddress address, ConnectionSettings settings, SchedulingMode scheduling)
    : IDisposable
{
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _shutdown = new();
    private readonly HashSet<Connection> _live = [];
    private volatile Connection? _current;
    private Task<Connection>? _connecting;
    private volatile bool _isShutDown;

    /// <summary>The connection to start a call on.</summary>
    /// <exception cref="ConnectException">There is none, and none could be made.</exception>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ValueTask<Connection> GetAsync()
    {
        Connection? current = _current;
        return current is { IsOpenForCalls: true }
            ? new ValueTask<Connection>(current)
            : new ValueTask<Connection>(Connect());
    }

    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public void ThrowIfShutDown() => ObjectDisposedException.ThrowIf(_isShutDown, typeof(Connection));

    /// <summary>Makes no more connections. Those that are open stay until they are closed or drained.</summary>
    /// <returns>The connections that live; none is added afterwards.</returns>
    public Connection[] ShutDown()
    {
        lock (_gate)
        {
            _isShutDown = true;
            _shutdown.Cancel();
            return [.. _live];
        }
    }

    public void Dispose() => _shutdown.Dispose();

    private Task<Connection> Connect()
    {
        lock (_gate)
        {
            ThrowIfShutDown();
            if (_current is { IsOpenForCalls: true } current)
            {
                return Task.FromResult(current);
            }

            // On the pool: a caller's synchronization context has no part in this, and the caller does not wait here.
            return _connecting ??= Task.Run(ConnectAsync);
        }
    }

    private async Task<Connection> ConnectAsync()
    {
        try
        {
            PeerLink link = await Connector.ConnectAsync(address, settings, _shutdown.Token).ConfigureAwait(false);
            var connection = new Connection(link, scheduling, accept: null, OnGoAway);
            bool isWanted;
            lock (_gate)
            {
                isWanted = !_isShutDown;
                if (isWanted)
                {
                    _live.Add(connection);
                    _current = connection;
                }
            }

            connection.Start();
            if (!isWanted)
            {
                connection.Close(ChannelDisposed);
                throw new ObjectDisposedException(nameof(Connection), "The channel was disposed.");
            }

            _ = ForgetWhenClosedAsync(connection);
            return connection;
        }
        catch (OperationCanceledException)
        {
            throw new ObjectDisposedException(nameof(Connection), "The channel was disposed.");
        }
        finally
        {
            lock (_gate)
            {
                _connecting = null;
            }
        }
    }

    public static CloseReason ChannelDisposed => new(CloseCause.Local, "The channel was disposed.");

    private void OnGoAway(Connection connection)
    {
        // The connection takes no new calls from here on; it is closed when those that live have ended.
        _ = CloseWhenDrainedAsync(connection);
    }

    private static async Task CloseWhenDrainedAsync(Connection connection)
    {
        await connection.WhenStartedCallsEndAsync().ConfigureAwait(false);

        // The server's doing, not this side's: a call that came too late to be drained is Unavailable, not Cancelled.
        connection.Close(new CloseReason(CloseCause.PeerClosed, "The server is leaving and all calls have ended."));
    }

    private async Task ForgetWhenClosedAsync(Connection connection)
    {
        await connection.Closed.ConfigureAwait(false);
        lock (_gate)
        {
            _live.Remove(connection);
        }

        Interlocked.CompareExchange(ref _current, null, connection);
    }
}
