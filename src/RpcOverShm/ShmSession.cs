using System.Collections.Concurrent;
using System.Globalization;
using System.Security.Claims;
using Grpc.Core;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Servers;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>A client's connected channel as the server sees it.</summary>
/// <remarks>
/// <para>
/// A session starts when a channel connects and ends when that connection is closed. If the channel connects again,
/// another session starts. A method gets the session of its caller with
/// <see cref="ShmServerCallContextExtensions.GetShmSession"/>. <see cref="ShmServer.Sessions"/> has those that are
/// open; <see cref="ShmServer.SessionStarted"/> and <see cref="ShmServer.SessionEnded"/> report each start and end.
/// </para>
/// <para>Thread-safe. Nothing to dispose. All members may be used after the session has ended.</para>
/// </remarks>
public sealed class ShmSession
{
    private readonly ServerSession? _session; // null if a test has made this
    private readonly ClientSettings _settings;
    private readonly CallInvoker? _made; // for callbacks of a test
    private readonly Lazy<CallInvoker> _plain;
    private readonly Lazy<ClaimsPrincipal> _user;

    // Made when it is used: an empty dictionary has a lock for each processor.
    private readonly Lazy<ConcurrentDictionary<object, object?>> _items = new(() => new());

    /// <summary>Creates a session without a server and a client, for unit tests of services that take one.</summary>
    /// <param name="user">The client's identity; its claim <see cref="ShmClaimTypes.ProcessId"/> is optional.</param>
    /// <param name="callbacks">
    /// The invoker for the calls that the service makes to its client.
    /// <para>Null means that the client offers no services: calls fail as they do then.</para>
    /// </param>
    /// <param name="id">The number of the session.</param>
    /// <param name="closed">The token that the test cancels to end the session.</param>
    /// <exception cref="ArgumentNullException">The identity is null.</exception>
    /// <remarks>
    /// A method finds the session in its context after
    /// <see cref="ShmServerCallContextExtensions.SetShmSession(ServerCallContext, ShmSession)"/>. The codec of
    /// <see cref="CreateCallInvoker"/> and <see cref="CreateOneWayInvoker"/> has no effect.
    /// </remarks>
    public ShmSession(
        ClaimsPrincipal user, CallInvoker? callbacks = null, long id = 1, CancellationToken closed = default)
    {
        ArgumentNullException.ThrowIfNull(user);
        Id = id;
        _ = int.TryParse(user.FindFirst(ShmClaimTypes.ProcessId)?.Value, CultureInfo.InvariantCulture, out int process);
        ProcessId = process;
        Closed = closed;
        _settings = NoServices.Settings;
        _made = callbacks;
        _plain = new Lazy<CallInvoker>(() => callbacks ?? Invoker(_settings));
        _user = new Lazy<ClaimsPrincipal>(user);
    }

    internal ShmSession(ServerSession session, ClientSettings settings, bool hasInstanceLimits = false)
    {
        Id = session.Number;
        ProcessId = session.Peer.ProcessId;
        Closed = session.Closed;
        _session = session;
        _settings = settings with { Connections = new SessionConnections(session), YieldsInstance = hasInstanceLimits };
        _plain = new Lazy<CallInvoker>(() => Invoker(_settings));
        _user = new Lazy<ClaimsPrincipal>(() => MakeUser(session.Peer));
    }

    /// <summary>Gets the number of the session: the server counts its sessions from 1.</summary>
    /// <remarks>It is a part of <see cref="ServerCallContext.Peer"/>: <c>shm:pid=26001;session=3</c>.</remarks>
    public long Id { get; }

    /// <summary>Gets the id of the client's process, as the kernel reports it.</summary>
    /// <remarks>
    /// It is that of the process that connected, at that time. 0 means a process in a pid namespace that this process
    /// cannot see, such as that of another container.
    /// </remarks>
    public int ProcessId { get; }

    /// <summary>Gets the client's identity, as the kernel reports it, for code that authorises by claims.</summary>
    /// <remarks>
    /// <para>
    /// An authenticated identity of the type <c>SO_PEERCRED</c>, on Windows <c>NamedPipe</c>, with the claims of
    /// <see cref="ShmClaimTypes"/>, and the name of the user's account as <see cref="ClaimTypes.Name"/>. If the system
    /// knows no name or cannot tell it, the name is <c>uid:1000</c>, with the number or SID of the user. The role is
    /// the id of the primary group, on Windows the user's SID again.
    /// </para>
    /// <para>
    /// The first read in a session asks the system for the name, once. That may block if the system keeps its users on
    /// another machine. The server itself never asks, and authorises by ids; code that needs no name finds them in
    /// <see cref="ServerCallContext.AuthContext"/> without a look-up. Claims are those of the process that
    /// connected, at that time.
    /// </para>
    /// </remarks>
    public ClaimsPrincipal User => _user.Value;

    /// <summary>Gets the items that the application keeps for the session.</summary>
    /// <remarks>Empty at first. The server neither reads nor disposes them.</remarks>
    public ConcurrentDictionary<object, object?> Items => _items.Value;

    /// <summary>Gets a token that is cancelled after the session has ended.</summary>
    /// <remarks>Its callbacks run on the thread pool. It needs no disposal.</remarks>
    public CancellationToken Closed { get; }

    /// <summary>Gets whether the client offers services for callbacks.</summary>
    /// <remarks>False after the session has ended.</remarks>
    public bool OffersCallbacks => _session is { } session
        ? session.Connection is { IsPeerServing: true, CloseReason: null }
        : _made is not null && !Closed.IsCancellationRequested;

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
    /// The calls use the connection of the session. Calls of all shapes, deadlines, metadata and cancellation work as
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
    public CallInvoker CreateCallInvoker(ShmCodec? codec = null) => codec is null || _made is not null
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
    /// <param name="onFailed">
    /// Hears of each call that has failed after it completed; null for nobody. It must not wait for a one-way call to
    /// the same client.
    /// </param>
    /// <returns>A thread-safe invoker, which costs little: one may be made for each client.</returns>
    /// <exception cref="ArgumentException">The name of the codec is not allowed.</exception>
    /// <remarks>
    /// No caller waits for such a call, so it never runs on a thread of the client that is blocked in a call, and it
    /// does not count for <see cref="ShmCallLimits.MaxCallbackDepth"/>. Methods that still run when the client disposes
    /// its channel are cancelled.
    /// </remarks>
    public CallInvoker CreateOneWayInvoker(ShmCodec? codec = null, Action<IMethod, Status>? onFailed = null)
    {
        if (_made is not null)
        {
            return _made;
        }

        ClientSettings settings = codec is null ? _settings : With(codec);
        return Invoker(settings).AsOneWay(onFailed);
    }

    private ClientSettings With(ShmCodec codec) => _settings with { Codec = codec.ToProvider() };

    private static ShmCallInvoker Invoker(ClientSettings settings) => new(settings.Connections!, settings);

    private static ClaimsPrincipal MakeUser(PeerIdentity peer)
    {
        List<Claim> claims =
        [
            new(ClaimTypes.Name, NameOf(peer.User)),
            new(ShmClaimTypes.UserId, $"{peer.User}", peer.User.ClaimValueType),
            new(ShmClaimTypes.GroupId, $"{peer.Group}", peer.Group.ClaimValueType),
        ];
        if (peer.ProcessId != 0)
        {
            claims.Add(new Claim(ShmClaimTypes.ProcessId, $"{peer.ProcessId}", ClaimValueTypes.Integer32));
        }

        return new ClaimsPrincipal(new ClaimsIdentity(
            claims,
            HostSystem.Current.IdentitySource,
            nameType: ClaimTypes.Name,
            roleType: ShmClaimTypes.GroupId));
    }

    private static string NameOf(Account user)
    {
        string? name = null;
        try
        {
            name = HostSystem.Current.NameOf(user);
        }
        catch (IOException)
        {
            // The name is for people and for rules of the user; the number is always known.
        }

        // A name has no colon, so this one is nobody else's.
        return name ?? $"{PeerIdentity.UserIdName}:{user}";
    }

    private sealed class SessionConnections(ServerSession session) : ConnectionProvider
    {
        public override CancellationToken ShutdownToken => session.Closed;

        public override ValueTask<Connection> GetAsync(bool isWaitForReady, bool isOneWay = false)
        {
            Connection connection = session.Connection;
            return connection.IsPeerServing && connection.IsOpenForCalls
                ? new ValueTask<Connection>(connection)
                : ValueTask.FromException<Connection>(new RpcException(
                    connection.IsOpenForCalls ? StatusMapping.NoCallbacks : StatusMapping.SessionEnded));
        }

        public override void ThrowIfShutDown()
        {
            // A call after the end of the session fails with its status.
        }
    }

    /// <summary>The connections of a session that a test has made: a client without services.</summary>
    private sealed class NoServices : ConnectionProvider
    {
        public static ClientSettings Settings { get; } = new()
        {
            MaxReceiveMessageBytes = null,
            MaxSendMessageBytes = null,
            CallWindow = ShmDefaults.CallWindow,
            Authority = "",
            Scheduling = default,
            Logger = NullLogger.Instance,
            Connections = new NoServices(),
        };

        public override CancellationToken ShutdownToken => default;

        public override ValueTask<Connection> GetAsync(bool isWaitForReady, bool isOneWay = false) =>
            ValueTask.FromException<Connection>(new RpcException(StatusMapping.NoCallbacks));

        public override void ThrowIfShutDown()
        {
            // Each call fails with its status.
        }
    }
}
