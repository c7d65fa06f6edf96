using System.Collections.Concurrent;
using System.Globalization;
using System.Security.Claims;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>A client's channel as the server sees it, however many connections it has.</summary>
/// <remarks>
/// <para>
/// A session begins when a channel connects and ends when its last connection is closed. If the channel connects again,
/// another session begins. A method gets the session of its caller with
/// <see cref="ShmServerCallContextExtensions.GetShmSession"/>; <see cref="ShmServer.SessionBegun"/> and
/// <see cref="ShmServer.SessionEnded"/> report all sessions.
/// </para>
/// <para>Thread-safe. Nothing to dispose. All members may be used after the session has ended.</para>
/// </remarks>
public sealed class ShmSession
{
    private readonly ServerSession _session;
    private readonly ClientSettings _settings;
    private readonly Lazy<CallInvoker> _invoker;
    private ClaimsPrincipal? _user;

    internal ShmSession(ServerSession session, ClientSettings settings)
    {
        _session = session;
        _settings = settings;
        _invoker = new Lazy<CallInvoker>(MakeInvoker);
    }

    /// <summary>Gets the number of the session: the server counts its sessions from 1.</summary>
    /// <remarks>It is a part of <see cref="ServerCallContext.Peer"/>: <c>shm:pid=26001;session=3</c>.</remarks>
    public long Id => _session.Number;

    /// <summary>Gets the id of the client's process, as the kernel reports it.</summary>
    /// <remarks>
    /// It is that of the process that connected, at that time. 0 means a process in a pid namespace that this process
    /// cannot see, such as that of another container.
    /// </remarks>
    public int ProcessId => _session.Peer.ProcessId;

    /// <summary>Gets the id of the client's user, as the kernel reports it.</summary>
    public long UserId => _session.Peer.UserId;

    /// <summary>Gets the id of the group of the client's process, as the kernel reports it.</summary>
    public long GroupId => _session.Peer.GroupId;

    /// <summary>Gets the client's identity for code that authorises by claims.</summary>
    /// <remarks>
    /// An authenticated identity of the type <c>SO_PEERCRED</c> with the claims <c>uid</c>, which is its name, and
    /// <c>gid</c>, which is its role: both are numbers, because an id needs no entry in a user database.
    /// </remarks>
    public ClaimsPrincipal User => _user ??= MakeUser(_session.Peer);

    /// <summary>Gets the items that the application keeps for the session.</summary>
    /// <remarks>Empty at first. Thread-safe. The server neither reads nor disposes them.</remarks>
    public IDictionary<object, object?> Items { get; } = new ConcurrentDictionary<object, object?>();

    /// <summary>Gets a token that is cancelled after the session has ended.</summary>
    /// <remarks>Its callbacks run on the thread pool. It needs no disposal.</remarks>
    public CancellationToken Closed => _session.Closed;

    /// <summary>Gets whether the client offers services for callbacks.</summary>
    /// <remarks>False after the session has ended.</remarks>
    public bool OffersCallbacks => _session.Connections.Any(one => one.Connection.IsPeerServing);

    /// <summary>
    /// Returns the invoker for calls to the services that the client offers
    /// (<see cref="ShmChannelOptions.CallbackServices"/>); a generated client is created with it.
    /// </summary>
    /// <remarks>
    /// <para>
    /// The calls use the connections of the session. Calls of all shapes, deadlines, metadata and cancellation work as
    /// on a channel. They may outlive the call in which they were started. Wait-for-ready has no effect.
    /// </para>
    /// <para>
    /// A call that a method makes, for a caller that blocks, runs on the blocked thread. Any other runs where methods
    /// run: on the client's event loop or thread pool. The calls of one session start in the order in which they were
    /// made, if they run in the same place; they may overlap.
    /// </para>
    /// <para>
    /// If the client offers no services, calls fail with <see cref="StatusCode.Unimplemented"/>. If the session has
    /// ended, they fail with <see cref="StatusCode.Unavailable"/>. A chain of calls and callbacks that is longer than
    /// <see cref="ShmChannelOptions.MaxCallbackDepth"/> or <see cref="ShmServerOptions.MaxCallbackDepth"/> allows fails
    /// with <see cref="StatusCode.ResourceExhausted"/>.
    /// </para>
    /// </remarks>
    public CallInvoker CreateCallInvoker() => _invoker.Value;

    private static ClaimsPrincipal MakeUser(PeerIdentity peer)
    {
        Claim[] claims =
        [
            new("uid", peer.UserId.ToString(CultureInfo.InvariantCulture), ClaimValueTypes.UInteger32),
            new("gid", peer.GroupId.ToString(CultureInfo.InvariantCulture), ClaimValueTypes.UInteger32),
        ];
        return new ClaimsPrincipal(new ClaimsIdentity(claims, "SO_PEERCRED", nameType: "uid", roleType: "gid"));
    }

    private CallInvoker MakeInvoker()
    {
        var connections = new SessionConnections(_session);
        return new ShmCallInvoker(connections, _settings with { Connections = connections });
    }

    private sealed class SessionConnections(ServerSession session) : ConnectionProvider
    {
        public override CancellationToken ShutdownToken => session.Closed;

        public override ValueTask<Connection> GetAsync(bool isWaitForReady)
        {
            IReadOnlyList<ServerConnection> connections = session.Connections;
            if (AmbientCall.Current is { } ambient)
            {
                // The connection of the call whose method makes this one: there its caller may block.
                foreach (ServerConnection one in connections)
                {
                    if (one.Connection.Id == ambient.Name.ConnectionId && IsUsable(one.Connection))
                    {
                        return new ValueTask<Connection>(one.Connection);
                    }
                }
            }

            bool hasSome = false;
            foreach (ServerConnection one in connections)
            {
                if (IsUsable(one.Connection))
                {
                    return new ValueTask<Connection>(one.Connection);
                }

                hasSome |= one.Connection.IsOpenForCalls;
            }

            Status status = hasSome ? StatusMapping.NoCallbacks : StatusMapping.SessionEnded;
            return ValueTask.FromException<Connection>(new RpcException(status));
        }

        public override void ThrowIfShutDown()
        {
            // A call after the end of the session fails with its status.
        }

        private static bool IsUsable(Connection connection) => connection.IsPeerServing && connection.IsOpenForCalls;
    }
}
