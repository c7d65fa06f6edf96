using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Logging;
using RpcOverShm.Connections;
using RpcOverShm.Systems;

namespace RpcOverShm.Servers;

/// <summary>
/// The server's state of one connected channel that outlives the connection, and the object that represents the channel
/// to user code. Thread-safe.
/// </summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "A source without a timer holds nothing, and users keep its token.")]
internal sealed class ServerSession
{
    private readonly CancellationTokenSource _closed = new();
    private readonly ServerConnection _connection;
    private int _quietChecks; // in a row
    private ServiceInstances? _instances; // made on first use

    /// <summary>Starts the session of a connection. The number is unique within the server.</summary>
    public ServerSession(ServerConnection connection, long number, Func<ServerSession, object> createView)
    {
        _connection = connection;
        Number = number;
        PeerName = $"shm:pid={Peer.ProcessId};session={number}";
        View = createView(this);
    }

    /// <summary>The number of the session, from 1.</summary>
    public long Number { get; }

    /// <summary>The client's process, as the kernel names it.</summary>
    public PeerIdentity Peer => Connection.Peer;

    public Connection Connection => _connection.Connection;

    /// <summary>The name of the client, as methods see it.</summary>
    public string PeerName { get; }

    /// <summary>The public object of the session.</summary>
    public object View { get; }

    /// <summary>Completes when the handlers for the start of the session have returned. Does not fail.</summary>
    public Task Started { get; set; } = Task.CompletedTask;

    /// <summary>Cancelled after the connection was closed.</summary>
    public CancellationToken Closed => _closed.Token;

    /// <summary>The instances of services that live as long as the session.</summary>
    public ServiceInstances Instances => Volatile.Read(ref _instances)
        ?? Interlocked.CompareExchange(ref _instances, new ServiceInstances(), null)
        ?? _instances;

    /// <summary>Completes when the session has ended and its instances, if any, were released. Does not fail.</summary>
    public Task Released => Volatile.Read(ref _instances)?.Released ?? Task.CompletedTask;

    /// <summary>
    /// Checks once for calls and callbacks. Returns true once, when the connection has had none for the idle timeout.
    /// The caller serialises the checks.
    /// </summary>
    public bool CheckIdle()
    {
        // A connection that was closed may still have methods of one-way calls.
        bool isQuiet = Connection.CloseReason is null && _connection.CheckQuiet();
        _quietChecks = isQuiet ? _quietChecks + 1 : 0;
        return _quietChecks == IdleTimer.QuietChecks;
    }

    /// <summary>Cancels <see cref="Closed"/>. Its callbacks run on the thread pool.</summary>
    /// <exception cref="AggregateException">A callback has thrown; the task fails.</exception>
    public Task CancelClosedAsync() => _closed.CancelAsync();

    /// <summary>
    /// Waits for the one-way calls that outlive the client, then refuses further uses of the instances. They are
    /// released after their last use. Does not fail.
    /// </summary>
    public async Task EndInstancesAsync(ILogger logger)
    {
        await _connection.WhenNoOneWayAsync().ConfigureAwait(false);
        if (Interlocked.CompareExchange(ref _instances, ServiceInstances.Ended, null) is { } instances)
        {
            await instances.EndAsync(logger).ConfigureAwait(false);
        }
    }
}
