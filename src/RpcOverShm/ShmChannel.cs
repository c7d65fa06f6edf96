using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Retries;
using RpcOverShm.Scheduling;
using RpcOverShm.Servers;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>A gRPC channel to a server in another process of the same machine, over shared memory.</summary>
/// <remarks>
/// <para>
/// Replaces any other gRPC channel: generated clients are created with it and need no change. The channel connects when
/// the first call needs a connection, carries all calls on one connection, and reconnects after the server restarted.
/// </para>
/// <para>
/// Thread-safe. An application creates one channel per server and shares it; the code that creates it disposes it. One
/// thread at a time reads the answers of a channel, so threads that make many blocking calls at once may be faster with
/// several channels, each of which is a connection and a session of its own.
/// </para>
/// <para>
/// A channel that was dropped without a disposal keeps its connections until a garbage collection finds it, and logs a
/// warning then. A client that was created with it, a call that runs, a wait of <see cref="ConnectAsync"/> or
/// <see cref="WaitForStateChangedAsync"/> keep it alive. So does an open connection of a channel that offers
/// <see cref="ShmCallbackOptions.Services"/>, because the server may call it.
/// </para>
/// </remarks>
public sealed class ShmChannel : ChannelBase, IDisposable, IAsyncDisposable
{
    private readonly Subchannel _connections;
    private readonly ChannelHandle _handle;
    private readonly ClientSettings _settings;
    private readonly ShmCallInvoker _direct;
    private readonly CallInvoker _invoker;

    private ShmChannel(RendezvousAddress address, ShmChannelOptions options)
        : base(address.Text)
    {
        var logger = GuardedLogger.Of<ShmChannel>(options.LoggerFactory);
        options.CheckMessageSizes();
        ServerSettings? callbacks = options.Callbacks.ToServerSettings(options, address.Text, logger);
        ConnectionSettings connection = options.ToConnectionSettings(callbacks?.Limits, logger);
        SchedulingMode scheduling = OptionRanges.Scheduling(options.Scheduling);
        Inspectors? observer = Inspectors.Of(options.MessageInspectors);
        _connections = new Subchannel(
            typeof(ShmChannel),
            address,
            connection,
            ConnectionsOf(scheduling, callbacks, new WeakReference<ShmChannel>(this)),
            options.ToBackoff(),
            static (failure, message) => new ShmTransportException(failure, message));
        _handle = new ChannelHandle(_connections, callbacks, address.Text, logger);
        _settings = new ClientSettings
        {
            MaxReceiveMessageBytes = options.MaxReceiveMessageSize,
            MaxSendMessageBytes = options.MaxSendMessageSize,
            CallWindow = connection.Limits.CallWindow,
            Codec = options.Codec?.ToProvider(),
            WithoutCodec = PayloadMarshallers.Instance,
            Observer = observer,
            ThrowsOperationCanceled = options.ThrowOperationCanceledOnCancellation,
            Credentials = ChannelAuthInterceptors.Of(options.Credentials),
            Authority = address.Text,
            Scheduling = scheduling,
            Logger = logger,
            Connections = _connections,
            Handle = _handle,
            Timeouts = options.ToTimeouts(),
        };
        if (options.ToIdleTimeout() is { } idle)
        {
            _connections.EnableIdleTimeout(idle);
        }

        _direct = new ShmCallInvoker(_connections, _settings);
        _invoker = options.ToRetrySettings() is { } retries
            ? new RetryCallInvoker(_direct, retries with { ChannelShutdown = _connections.ShutdownToken })
            : _direct;
    }

    /// <summary>Creates a channel without connecting, so it succeeds even if no server is running.</summary>
    /// <param name="address">
    /// <c>shm://name</c>, where the name consists of segments of letters, digits, '.', '-' and '_', separated by '/',
    /// with at most 200 characters in all; or <c>shm:///path</c> for the path of the server's socket file.
    /// </param>
    /// <param name="options">The settings; null for the defaults.</param>
    /// <exception cref="ArgumentNullException">The address is null.</exception>
    /// <exception cref="ArgumentException">
    /// The address or an option is invalid; the message says what is allowed.
    /// </exception>
    public static ShmChannel ForAddress(string address, ShmChannelOptions? options = null)
    {
        options ??= new ShmChannelOptions();
        var channel = new ShmChannel(options.Connect.Parse(address), options);
        options.Callbacks.Services.Freeze(address);
        return channel;
    }

    /// <summary>Gets the current state of the connection to the server.</summary>
    /// <remarks>
    /// The state may have changed when the caller reads it; <see cref="WaitForStateChangedAsync"/> reports changes.
    /// </remarks>
    public ConnectivityState State => _connections.State;

    /// <summary>The connections. For tests.</summary>
    internal Subchannel Connections => _connections;

    /// <summary>
    /// Returns the invoker that generated clients call through; all invokers of a channel share its connections.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public override CallInvoker CreateCallInvoker()
    {
        ThrowIfShutDown();
        return _invoker;
    }

    /// <summary>Connects to the server, if the channel is not connected.</summary>
    /// <param name="cancellationToken">Stops waiting; the channel keeps trying to connect.</param>
    /// <returns>A task that completes when the channel is connected.</returns>
    /// <exception cref="PlatformNotSupportedException">
    /// The system is not Linux. Calls fail with <see cref="StatusCode.Internal"/> and this exception.
    /// </exception>
    /// <exception cref="ObjectDisposedException">The channel was shut down, before or during the wait.</exception>
    /// <exception cref="OperationCanceledException">
    /// The token was cancelled. The message says why there is no connection; if an attempt has failed, the inner
    /// exception is its <see cref="ShmTransportException"/>.
    /// </exception>
    /// <remarks>
    /// Calls connect by themselves; this method takes the time to connect out of the first call. If an attempt fails,
    /// the channel tries again, with the back-off of its options, until it is connected. While it waits, it logs after
    /// 1, 2, 4 seconds and so on why there is no connection.
    /// </remarks>
    public async Task ConnectAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        await _connections.ConnectAsync(cancellationToken).ConfigureAwait(false);

        // Until here a channel that its user has dropped goes on trying.
        GC.KeepAlive(this);
    }

    /// <summary>Waits until the channel's state differs from <paramref name="lastObservedState"/>.</summary>
    /// <param name="lastObservedState">The state that the caller has seen last.</param>
    /// <param name="cancellationToken">
    /// Stops waiting. <see cref="ConnectivityState.Shutdown"/> is final, so only this token ends a wait for its change.
    /// </param>
    /// <returns>
    /// A task that completes when the state has changed, at once if it differs already. The state may have changed back
    /// by then.
    /// </returns>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async Task WaitForStateChangedAsync(
        ConnectivityState lastObservedState, CancellationToken cancellationToken = default)
    {
        await _connections.WaitForStateChangedAsync(lastObservedState, cancellationToken).ConfigureAwait(false);
        GC.KeepAlive(this);
    }

    /// <summary>
    /// Returns an invoker with which the unary calls of a generated client are one-way: a call completes when
    /// its request was handed to the server's process.
    /// </summary>
    /// <param name="onFailed">
    /// Hears of each call that has failed after it completed: of its method, and of the status with which the server or
    /// the loss of the connection has ended it. Null for nobody.
    /// </param>
    /// <returns>A thread-safe invoker, which costs little: one may be made for each client.</returns>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    /// <remarks>
    /// <para>
    /// Any unary method can be called in this way, blocking or awaited; the server's method sees an ordinary call. Its
    /// response, headers and trailers are dropped. The caller gets an empty response: what the method's
    /// marshaller reads from no bytes, or null if it cannot read that. Calls with a stream throw
    /// <see cref="InvalidOperationException"/>. A call cannot be recorded in a batch, and retry policies do not apply.
    /// </para>
    /// <para>
    /// <paramref name="onFailed"/> runs on a thread of the library or of the pool, perhaps for several calls at a time:
    /// after a method that threw or set another status than OK, a deadline that has passed, a refusal by a limit, the
    /// end of the server's grace (<see cref="StatusCode.Unavailable"/>), and for each call without an end when the
    /// connection is lost (<see cref="StatusCode.Unavailable"/>; its method may have run). It does not run for calls
    /// that have not ended when this side shuts the channel down: they go on. A call counts as in progress until the
    /// handler has returned, so a slow one holds up further calls; it must not wait for a one-way call of this channel,
    /// which may wait for the room that the handler keeps. The channel logs its exceptions. The server counts
    /// failures (<c>rpcovershm.oneway.failed</c> of the meter <c>RpcOverShm</c>, with the status as tag) and logs them.
    /// </para>
    /// <para>
    /// If the server is behind with the one-way calls of a connection, a call waits
    /// until there is room for it: until its deadline, if it has one. Those that wait go in their order. The server
    /// makes room for requests of 512 KiB in all, counted with 1 KiB more each, and one larger one; and for half as
    /// many calls as it takes of a connection, if these are fewer. Without a
    /// deadline, a token or a <see cref="ShmChannelOptions.DefaultTimeout"/>, a call waits for as long as the server is
    /// behind.
    /// </para>
    /// <para>
    /// The request of a completed call is in memory that the server reads even if the client exits or is killed. Its
    /// method then runs at most once, and is not cancelled if the client leaves. A call is lost if the server crashes
    /// or is killed before its method has ended, or if the grace of its stop is too short; nobody makes it again. A
    /// deadline is sent with the call and holds for its method. A call that throws, also by its deadline or token while
    /// it waits, was not sent as a whole, unless its last part went at the same moment.
    /// </para>
    /// <para>
    /// Calls of one thread on one connection, one-way and others, start in the order in which they were made; their
    /// methods may overlap. The exceptions of a call that cannot be sent are those of other calls.
    /// </para>
    /// </remarks>
    public CallInvoker CreateOneWayInvoker(Action<IMethod, Status>? onFailed = null)
    {
        ThrowIfShutDown();
        return _direct.AsOneWay(onFailed);
    }

    /// <summary>
    /// Rents a payload for a request, whose memory the caller writes and the server may read in place.
    /// </summary>
    /// <param name="length">The length in bytes; 1 or more.</param>
    /// <returns>A payload with any content, which the caller disposes, whether or not it was sent.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The length is less than 1.</exception>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    /// <exception cref="RpcException">
    /// <see cref="StatusCode.ResourceExhausted"/>: the memory of <see cref="ShmLoanOptions"/> is used up, because
    /// payloads were not disposed, here or by the server.
    /// </exception>
    /// <remarks>
    /// <para>
    /// The payload is lent to the server if <see cref="ShmLoanOptions.AllowLoanedPayloads"/> says so on both sides, the
    /// channel is connected (<see cref="ConnectAsync"/>), and the call uses the same connection. Otherwise it is
    /// private memory, zeroed, and is copied like any message.
    /// </para>
    /// <para>The first payloads of a size take longer: memory is made for them. Thread-safe.</para>
    /// </remarks>
    public ShmPayload RentPayload(int length)
    {
        ThrowIfShutDown();
        return ShmPayload.Rent(_connections.Current?.Loans, length);
    }

    /// <summary>Creates a batch of unary calls that are sent together; the caller disposes it.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ShmCallBatch CreateBatch()
    {
        ThrowIfShutDown();
        var batch = new CallBatch();
        return new ShmCallBatch(batch, _direct.InBatch(batch));
    }

    /// <summary>
    /// Shuts the channel down, as <see cref="ChannelBase.ShutdownAsync"/> does, and waits until that is done.
    /// </summary>
    public void Dispose()
    {
        Task shutdown = _handle.ShutDown();
        if (!shutdown.IsCompleted)
        {
            // In a method that runs inline, this thread has the event loop that closes the connections.
            LoopThread.LeaveLoopBeforeSleep();
        }

        shutdown.GetAwaiter().GetResult();
    }

    /// <summary>Shuts the channel down, as <see cref="ChannelBase.ShutdownAsync"/> does.</summary>
    public ValueTask DisposeAsync() => new(_handle.ShutDown());

    /// <summary>Cancels the running calls and closes the connections.</summary>
    /// <remarks>
    /// The cancelled calls fail with <see cref="StatusCode.Cancelled"/>. Later calls throw
    /// <see cref="ObjectDisposedException"/>. A second shutdown does nothing.
    /// </remarks>
    protected override Task ShutdownAsyncCore() => _handle.ShutDown();

    // Attempts to connect do not refer to the channel. An open connection does if the server may call back: nobody else
    // may hold a channel that only waits for callbacks.
    private static ConnectionFactory ConnectionsOf(
        SchedulingMode scheduling, ServerSettings? callbacks, WeakReference<ShmChannel> channel)
    {
        if (callbacks is null)
        {
            return (link, onGoAway) => new Connection(link, scheduling, accept: null, onGoAway);
        }

        var shared = new SharedLimits(callbacks.Limits);
        return (link, onGoAway) =>
        {
            channel.TryGetTarget(out ShmChannel? serving);
            var connection = new ServerConnection(link, callbacks with { Channel = serving }, shared, onGoAway);
            _ = StopOneWayAtDisposeAsync(connection);
            return connection.Connection;
        };
    }

    // One-way calls outlive their connection, but not the channel that serves them.
    private static async Task StopOneWayAtDisposeAsync(ServerConnection serving)
    {
        await serving.Connection.Closed.ConfigureAwait(false);
        if (serving.Connection.CloseReason?.Kind == CloseKind.Local)
        {
            serving.EndAllCalls(StatusMapping.Disposed);
        }
    }

    private void ThrowIfShutDown()
    {
        if (_handle.IsShutDown)
        {
            throw _connections.CreateDisposedException();
        }
    }
}
