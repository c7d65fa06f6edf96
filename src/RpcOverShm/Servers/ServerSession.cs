using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Logging;
using RpcOverShm.Connections;
using RpcOverShm.Links;

namespace RpcOverShm.Servers;

/// <summary>
/// A client's channel as the server sees it: its connections, from the first to the end of the last. Thread-safe; the
/// server adds and removes connections.
/// </summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "A source without a timer holds nothing, and users keep its token.")]
internal sealed class ServerSession
{
    private readonly CancellationTokenSource _closed = new();
    private volatile ServerConnection[] _connections = [];
    private int _quietLooks; // in a row
    private ServiceInstances? _instances; // made on first use
    private Task _oneWayEnded = Task.CompletedTask; // the calls of removed connections

    /// <summary>Starts a session. The number is unique within the server.</summary>
    public ServerSession(Guid key, PeerIdentity peer, long number, Func<ServerSession, object> createView)
    {
        Key = key;
        Peer = peer;
        Number = number;
        PeerName = $"shm:pid={peer.ProcessId};session={number}";
        View = createView(this);
    }

    /// <summary>The id that the connections of the session have in common.</summary>
    public Guid Key { get; }

    /// <summary>The number of the session, from 1.</summary>
    public long Number { get; }

    /// <summary>The client's process, as the kernel names it.</summary>
    public PeerIdentity Peer { get; }

    /// <summary>The name of the client, as methods see it.</summary>
    public string PeerName { get; }

    /// <summary>The public object of the session.</summary>
    public object View { get; }

    /// <summary>Completes when the handlers for the start of the session have returned. Does not fail.</summary>
    public Task Started { get; set; } = Task.CompletedTask;

    /// <summary>Cancelled after the last connection was closed.</summary>
    public CancellationToken Closed => _closed.Token;

    /// <summary>The open connections, the oldest first.</summary>
    public IReadOnlyList<ServerConnection> Connections => _connections;

    /// <summary>The instances of services that live as long as the session.</summary>
    public ServiceInstances Instances => Volatile.Read(ref _instances)
        ?? Interlocked.CompareExchange(ref _instances, new ServiceInstances(), null)
        ?? _instances;

    /// <summary>Completes when the session has ended and its instances, if any, were released. Does not fail.</summary>
    public Task Released => Volatile.Read(ref _instances)?.Released ?? Task.CompletedTask;

    /// <summary>Adds a connection. The caller serialises changes, also those of <see cref="Remove"/>.</summary>
    public void Add(ServerConnection connection) => _connections = [.. _connections, connection];

    /// <summary>Removes a connection. Returns whether it was the last one.</summary>
    public bool Remove(ServerConnection connection)
    {
        Task oneWay = connection.OneWay.WhenEmptyAsync();
        _oneWayEnded = oneWay.IsCompleted ? _oneWayEnded : Task.WhenAll(_oneWayEnded, oneWay);
        _connections = [.. _connections.Where(one => one != connection)];
        return _connections.Length == 0;
    }

    /// <summary>
    /// Looks once for calls and callbacks. Returns true, once, when no connection had any for the idle timeout. The
    /// caller serialises the looks, and calls them with changes of the connections.
    /// </summary>
    public bool LookForIdle()
    {
        // A connection that was closed may still have methods of one-way calls.
        bool isQuiet = _connections.Length > 0;
        foreach (ServerConnection one in _connections)
        {
            isQuiet &= one.IsQuietSinceLastLook();
        }

        _quietLooks = isQuiet ? _quietLooks + 1 : 0;
        return _quietLooks == IdleTimer.QuietLooks;
    }

    /// <summary>Cancels the token. Its callbacks run on the thread pool.</summary>
    /// <exception cref="AggregateException">A callback has thrown; the task fails.</exception>
    public Task EndAsync() => _closed.CancelAsync();

    /// <summary>
    /// Ends the use of the instances when no one-way call is left, which goes on without its client; has them released
    /// when no method uses them. Does not fail.
    /// </summary>
    public async Task EndInstancesAsync(ILogger logger)
    {
        await _oneWayEnded.ConfigureAwait(false);
        if (Interlocked.CompareExchange(ref _instances, ServiceInstances.Ended, null) is { } instances)
        {
            await instances.EndAsync(logger).ConfigureAwait(false);
        }
    }
}
