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
/// A session starts when a channel connects and ends when its last connection is closed. If the channel connects again,
/// another session starts. A method gets the session of its caller with
/// <see cref="ShmServerCallContextExtensions.GetShmSession"/>; <see cref="ShmServer.SessionStarted"/> and
/// <see cref="ShmServer.SessionEnded"/> report all sessions.
/// </para>
/// <para>Thread-safe. Nothing to dispose. All members may be used after the session has ended.</para>
/// </remarks>
public sealed class ShmSession
{
    private readonly ServerSession _session;
    private readonly ClientSettings _settings;
    private readonly SessionConnections _connections;
    private readonly bool _letsGo;
    private readonly Lazy<CallInvoker> _plain;
    private readonly Lazy<ClaimsPrincipal> _user;

    // Made when it is used: an empty dictionary has a lock for each processor.
    private readonly Lazy<ConcurrentDictionary<object, object?>> _items = new(() => new());

    internal ShmSession(ServerSession session, ClientSettings settings, bool hasInstanceLimits = false)
    {
        _session = session;
        _letsGo = hasInstanceLimits;
        _connections = new SessionConnections(session);
        _settings = settings with { Connections = _connections };
        _plain = new Lazy<CallInvoker>(() => Invoker(_settings));
        _user = new Lazy<ClaimsPrincipal>(() => MakeUser(session.Peer));
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

    /// <summary>Gets the id of the primary group of the client's process, as the kernel reports it.</summary>
    public long GroupId => _session.Peer.GroupId;

    /// <summary>Gets the client's identity for code that authorises by claims.</summary>
    /// <remarks>
    /// An authenticated identity of the type <c>SO_PEERCRED</c> with the claims <c>uid</c>, which is its name, and
    /// <c>gid</c>, the primary group, which is its role. Both are numbers: an id needs no entry in a user database.
    /// </remarks>
    public ClaimsPrincipal User => _user.Value;

    /// <summary>Gets the items that the application keeps for the session.</summary>
    /// <remarks>Empty at first. The server neither reads nor disposes them.</remarks>
    public ConcurrentDictionary<object, object?> Items => _items.Value;

    /// <summary>Gets a token that is cancelled after the session has ended.</summary>
    /// <remarks>Its callbacks run on the thread pool. It needs no disposal.</remarks>
    public CancellationToken Closed => _session.Closed;

    /// <summary>Gets whether the client offers services for callbacks.</summary>
    /// <remarks>False after the session has ended.</remarks>
    public bool OffersCallbacks => _session.Connections.Any(one => one.Connection.IsPeerServing);

    /// <summary>
    /// Returns an invoker for calls to the services that the client offers
    /// (<see cref="ShmCallbackOptions.Services"/>). A generated client is created with it.
    /// </summary>
    /// <param name="codec">
    /// The codec of all messages, which must be that of the client's channel.
    /// <para>Null means the marshallers that were generated with the service.</para>
    /// </param>
    /// <returns>A thread-safe invoker. Without a codec it is always the same one.</returns>
    /// <exception cref="ArgumentException">The name of the codec is not allowed.</exception>
    /// <remarks>
    /// <para>
    /// The calls use the connections of the session. Calls of all shapes, deadlines, metadata and cancellation work as
    /// on a channel, with the limits of the server's options. They may outlive the call in which they were started.
    /// Wait-for-ready has no effect: a session does not come back.
    /// </para>
    /// <para>
    /// A call that a method makes, while a thread of the client blocks in the method's call, runs on that thread
    /// (<see cref="ShmCallbackOptions.Services"/>). The method's ExecutionContext makes the connection between
    /// both. Any other call runs where methods run: on the client's event loop or thread pool. Calls that run in the
    /// same place start in the order in which they were made; they may overlap.
    /// </para>
    /// <para>
    /// If the client offers no services, calls fail with <see cref="StatusCode.Unimplemented"/>. If the session has
    /// ended, they fail with <see cref="StatusCode.Unavailable"/>. A chain of calls and callbacks that is too long
    /// (<see cref="ShmCallLimits.MaxCallbackDepth"/>) fails with <see cref="StatusCode.ResourceExhausted"/>.
    /// </para>
    /// </remarks>
    public CallInvoker CreateCallInvoker(ShmCodec? codec = null) => codec is null
        ? _plain.Value
        : Invoker(With(codec));

    /// <summary>
    /// Returns an invoker for one-way calls to the services that the client offers, as
    /// <see cref="ShmChannel.CreateOneWayInvoker"/> does for calls to a server.
    /// </summary>
    /// <param name="codec">
    /// The codec of all messages, which must be that of the client's channel.
    /// <para>Null means the marshallers that were generated with the service.</para>
    /// </param>
    /// <returns>A thread-safe invoker, which costs little: one may be made for each client.</returns>
    /// <exception cref="ArgumentException">The name of the codec is not allowed.</exception>
    /// <remarks>
    /// No caller waits for such a call, so it never runs on a thread of the client that is blocked in a call, and it
    /// does not count for <see cref="ShmCallLimits.MaxCallbackDepth"/>. A failure is reported by
    /// <see cref="ShmChannel.OneWayCallFailed"/> of the client. Methods that still run when the client disposes its
    /// channel are cancelled.
    /// </remarks>
    public CallInvoker CreateOneWayInvoker(ShmCodec? codec = null)
    {
        ClientSettings settings = codec is null ? _settings : With(codec);
        return InspectedCalls.Around(new OneWayCallInvoker(new ShmCallInvoker(_connections, settings)), settings);
    }

    private ClientSettings With(ShmCodec codec) =>
        _settings with { Codec = InspectedCalls.CodecOf(codec?.ToProvider(), _settings.Observer) };

    private CallInvoker Invoker(ClientSettings settings)
    {
        CallInvoker invoker = InspectedCalls.Around(
            new ObservableShmInvoker(_connections, settings), settings);
        return _letsGo ? new LettingGoInvoker(invoker) : invoker;
    }

    private static ClaimsPrincipal MakeUser(PeerIdentity peer)
    {
        Claim[] claims =
        [
            new("uid", peer.UserId.ToString(CultureInfo.InvariantCulture), ClaimValueTypes.UInteger32),
            new("gid", peer.GroupId.ToString(CultureInfo.InvariantCulture), ClaimValueTypes.UInteger32),
        ];
        return new ClaimsPrincipal(new ClaimsIdentity(claims, "SO_PEERCRED", nameType: "uid", roleType: "gid"));
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
