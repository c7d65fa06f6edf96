using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Retries;
using RpcOverShm.Scheduling;

namespace RpcOverShm;

/// <summary>
/// A gRPC channel to a server in another process of this machine, over shared memory. It takes the place of any other
/// channel: generated clients are made with it and need no change. Connects when the first call needs it, connects anew
/// after the server was restarted, and carries all calls on one connection. Thread-safe; meant to be made once and
/// shared. Its owner disposes it.
/// </summary>
public sealed class ShmChannel : ChannelBase, IDisposable, IAsyncDisposable
{
    private readonly Subchannel _connections;
    private readonly ClientSettings _settings;
    private readonly ShmCallInvoker _direct;
    private readonly CallInvoker _invoker;
    private Task? _shutdown;

    private ShmChannel(RendezvousAddress address, ShmChannelOptions options)
        : base(address.Text)
    {
        var logger = OptionChecks.Logger<ShmChannel>(options.LoggerFactory);
        ConnectionSettings connection = OptionChecks.Connection(
            ConnectionPurpose.Calls,
            options.RingCapacity,
            options.MaxMetadataSize,
            options.ConnectTimeout,
            maxCalls: 0,
            logger);
        SchedulingMode scheduling = OptionChecks.Scheduling(options.Scheduling);
        ReconnectBackoff backoff = OptionChecks.Backoff(options.InitialReconnectBackoff, options.MaxReconnectBackoff);
        _connections = new Subchannel(
            typeof(ShmChannel),
            address,
            connection,
            scheduling,
            backoff,
            static (failure, message) => new ShmTransportException(failure, message));
        _settings = new ClientSettings
        {
            MaxReceiveMessageBytes = OptionChecks.MessageSize(options.MaxReceiveMessageSize),
            MaxSendMessageBytes = OptionChecks.MessageSize(options.MaxSendMessageSize),
            CallWindow = connection.Limits.CallWindow,
            Codec = OptionChecks.Codec(options.Codec),
            AllowInPlaceParsing = options.AllowInPlaceParsing,
            ThrowsOperationCanceled = options.ThrowOperationCanceledOnCancellation,
            Credentials = ChannelAuthInterceptors.Of(options.Credentials),
            Authority = address.Text,
            Scheduling = scheduling,
            Logger = logger,
            Connectivity = _connections.Connectivity,
        };
        _direct = new ShmCallInvoker(_connections, _settings);
        _invoker = RetryChecks.Settings(options) is { } retries
            ? new RetryCallInvoker(
                _direct,
                retries with { ChannelShutdown = _connections.ShutdownToken },
                _settings.MaxSendMessageBytes)
            : _direct;
    }

    /// <summary>Makes a channel. Does not connect yet, so it does not fail for a server that is not there.</summary>
    /// <param name="address">
    /// <c>shm://name</c>, where the name has segments of letters, digits, '.', '-' and '_', separated by '/', at most
    /// 200 characters in all; or <c>shm:///path</c> for the server's socket file itself.
    /// </param>
    /// <param name="options">Settings; null for the defaults.</param>
    /// <exception cref="ArgumentException">
    /// The address or an option is not allowed; the message says what is.
    /// </exception>
    public static ShmChannel ForAddress(string address, ShmChannelOptions? options = null)
    {
        options ??= new ShmChannelOptions();
        return new ShmChannel(RendezvousAddress.Parse(address, options.RuntimeDirectory), options);
    }

    /// <summary>
    /// How the channel stands to its server now. It may have changed when the caller looks at it; to follow it, use
    /// <see cref="WaitForStateChangedAsync"/>.
    /// </summary>
    public ConnectivityState State => _connections.Connectivity.State;

    /// <summary>
    /// Makes the invoker that generated clients call through. All invokers of a channel share its connection.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public override CallInvoker CreateCallInvoker()
    {
        ObjectDisposedException.ThrowIf(Volatile.Read(ref _shutdown) is not null, this);
        return _invoker;
    }

    /// <summary>
    /// Connects, if there is no connection. Completes when there is one, through failures: it is tried again until
    /// then, with the pauses that the options say. Calls do not need this; it takes the time of connecting out of the
    /// first one.
    /// </summary>
    /// <param name="cancellationToken">Ends the waiting; the channel goes on trying.</param>
    /// <exception cref="PlatformNotSupportedException">
    /// This system is not Linux. Calls end <see cref="StatusCode.Internal"/> with it.
    /// </exception>
    /// <exception cref="ObjectDisposedException">The channel was shut down, or is meanwhile.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async Task ConnectAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        await _connections.GetAsync(isWaitForReady: true).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>
    /// Completes when the state is another one than this, at once if it is so already. The state may have changed back
    /// when the caller looks at it.
    /// </summary>
    /// <param name="lastObservedState">The state that the caller knows of.</param>
    /// <param name="cancellationToken">
    /// Ends the waiting. <see cref="ConnectivityState.Shutdown"/> is final: nothing else ends a wait for its change.
    /// </param>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public Task WaitForStateChangedAsync(
        ConnectivityState lastObservedState, CancellationToken cancellationToken = default) =>
        _connections.Connectivity.WhenNotAsync(lastObservedState, cancellationToken);

    /// <summary>Makes a batch: unary calls that go to the server together. The caller disposes it.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ShmCallBatch CreateBatch()
    {
        ObjectDisposedException.ThrowIf(Volatile.Read(ref _shutdown) is not null, this);
        var batch = new CallBatch();
        return new ShmCallBatch(batch, new BatchCallInvoker(_direct, batch));
    }

    /// <summary>Shuts the channel down, as <see cref="ChannelBase.ShutdownAsync"/> does, and waits for it.</summary>
    public void Dispose() => Shutdown().GetAwaiter().GetResult();

    /// <summary>Shuts the channel down, as <see cref="ChannelBase.ShutdownAsync"/> does.</summary>
    public ValueTask DisposeAsync() => new(Shutdown());

    /// <summary>
    /// Cancels the calls that live, which end <see cref="StatusCode.Cancelled"/>, and closes the connection. Calls that
    /// are made later throw <see cref="ObjectDisposedException"/>. Shutting down twice does nothing.
    /// </summary>
    protected override Task ShutdownAsyncCore() => Shutdown();

    private Task Shutdown()
    {
        if (Volatile.Read(ref _shutdown) is { } running)
        {
            return running;
        }

        var source = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        if (Interlocked.CompareExchange(ref _shutdown, source.Task, null) is { } other)
        {
            return other;
        }

        _ = CloseAsync(source);
        return source.Task;
    }

    private async Task CloseAsync(TaskCompletionSource done)
    {
        Connection[] connections = _connections.ShutDown();
        foreach (Connection connection in connections)
        {
            // The server then knows that this end is no loss.
            connection.SendGoAway();
            connection.Close(Subchannel.ChannelDisposed);
        }

        foreach (Connection connection in connections)
        {
            await connection.Closed.ConfigureAwait(false);
        }

        _connections.Dispose();
        done.SetResult();
    }
}
