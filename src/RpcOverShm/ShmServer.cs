using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// Serves gRPC services to other processes of this machine, over shared memory. Add services, start, and stop or
/// dispose; a server is started once. One live server holds an address; one that was killed is replaced at once by the
/// next. Thread-safe. Its owner disposes it. The <see cref="ServerCallContext.Peer"/> of its methods is
/// <c>shm:pid=26001;connection=3</c>: the client's process, and the number of the connection among the server's.
/// </summary>
public sealed class ShmServer : IAsyncDisposable
{
    private readonly RendezvousAddress _address;
    private readonly ConnectionSettings _connectionSettings;
    private readonly ServerSettings _settings;
    private static readonly TimeSpan s_longestGrace = TimeSpan.FromMilliseconds(int.MaxValue);

    private readonly IReadOnlyList<MarshallerProvider> _codecs;
    private readonly Interceptor[] _interceptors;
    private readonly ILogger _logger;
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _hurry = new();
    private readonly CancellationTokenSource _stopping = new();
    private ServerCore? _running;
    private Task? _stop;

    /// <summary>Makes a server. It does not listen yet.</summary>
    /// <param name="address">
    /// <c>shm://name</c>, where the name has segments of letters, digits, '.', '-' and '_', separated by '/', at most
    /// 200 characters in all; or <c>shm:///path</c> for the socket file itself, in a directory that exists.
    /// </param>
    /// <param name="options">Settings; null for the defaults.</param>
    /// <exception cref="ArgumentException">
    /// The address or an option is not allowed; the message says what is.
    /// </exception>
    public ShmServer(string address, ShmServerOptions? options = null)
    {
        options ??= new ShmServerOptions();
        _address = RendezvousAddress.Parse(address, options.RuntimeDirectory);
        _logger = OptionChecks.Logger<ShmServer>(options.LoggerFactory);
        _connectionSettings = OptionChecks.Connection(
            ConnectionPurpose.Calls,
            options.RingCapacity,
            options.MaxMetadataSize,
            options.HandshakeTimeout,
            PeerLimits.CallsPerConnection,
            _logger);
        _settings = new ServerSettings
        {
            MaxReceiveMessageBytes = OptionChecks.MessageSize(options.MaxReceiveMessageSize),
            MaxSendMessageBytes = OptionChecks.MessageSize(options.MaxSendMessageSize),
            CallWindow = _connectionSettings.Limits.CallWindow,
            MaxCalls = _connectionSettings.Limits.MaxCalls,
            MaxMetadataBytes = _connectionSettings.Limits.MaxMetadataBytes,
            Scheduling = OptionChecks.Scheduling(options.Scheduling),
            AllowInPlaceParsing = options.AllowInPlaceParsing,
            HasDetailedErrors = options.EnableDetailedErrors,
            ResponseEncoding = OptionChecks.Encoding(options.ResponseCompressionAlgorithm),
            ResponseCompressionLevel = OptionChecks.Level(options.ResponseCompressionLevel),
            Logger = _logger,
        };
        _codecs = OptionChecks.Codecs(options.Codecs);
        _interceptors = OptionChecks.Interceptors(options.Interceptors);
        Services = new ShmServiceCollection(this);
    }

    /// <summary>The services. Complete before the server is started.</summary>
    public ShmServiceCollection Services { get; }

    /// <summary>The address as it was given.</summary>
    public string Address => _address.Text;

    /// <summary>
    /// Token that fires when the server begins to stop or to be disposed, before it waits for running calls.
    /// </summary>
    /// <remarks>
    /// <para>
    /// A method whose call lasts as long as its client likes, a watch for example, ends when this token or that of its
    /// call fires; otherwise it holds up the stop for the whole grace. The services of ASP.NET Core watch
    /// <c>IHostApplicationLifetime.ApplicationStopping</c> for the same purpose. The token of a call fires only when
    /// the grace is over.
    /// </para>
    /// <para>
    /// It is requested by the time that the method which stops the server returns its task, also for a server that was
    /// never started. Callbacks run on the thread pool, one after the other. The stop does not wait for them: one that
    /// blocks delays the callbacks after it and nothing else, and the exception of one that throws is logged.
    /// Thread-safe; the token may be used after the server was disposed.
    /// </para>
    /// </remarks>
    public CancellationToken Stopping => _stopping.Token;

    /// <summary>True once the server was started, whether or not it has been stopped since.</summary>
    internal bool IsStarted
    {
        get
        {
            lock (_gate)
            {
                return _running is not null;
            }
        }
    }

    /// <summary>The server at work; null before it is started. For tests.</summary>
    internal ServerCore? Running => _running;

    /// <summary>Takes the address and serves from here on.</summary>
    /// <param name="cancellationToken">Cancels the start, as long as it has not happened.</param>
    /// <exception cref="ShmTransportException">
    /// The address is held by a live server (<see cref="ShmTransportError.AddressInUse"/>) or cannot be made. The
    /// server may be started again later.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">This system is not Linux.</exception>
    /// <exception cref="InvalidOperationException">The server was started before.</exception>
    /// <exception cref="ArgumentException">Two services have a method of the same name.</exception>
    /// <exception cref="ObjectDisposedException">The server was stopped or disposed.</exception>
    public Task StartAsync(CancellationToken cancellationToken = default)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled(cancellationToken);
        }

        try
        {
            Start();
            return Task.CompletedTask;
        }
        catch (Exception exception)
        {
            return Task.FromException(exception);
        }
    }

    /// <summary>
    /// Fires <see cref="Stopping"/>, stops taking clients and calls, and waits until the running calls have ended,
    /// however long that takes: a call that never ends, such as a watch of health, must end with that token. Stopping a
    /// server that was stopped does nothing; nor does stopping one that was never started, but for the token.
    /// </summary>
    public Task ShutdownAsync() => StopAsync(Timeout.InfiniteTimeSpan);

    /// <summary>
    /// Fires <see cref="Stopping"/>, stops taking clients and calls, gives the running calls time to end, then cancels
    /// them: their methods see their token cancelled, their clients <see cref="Grpc.Core.StatusCode.Unavailable"/>. New
    /// calls of connected clients are <see cref="Grpc.Core.StatusCode.Unavailable"/> at once. Afterwards no file of the
    /// address is left.
    /// </summary>
    /// <param name="grace">
    /// How long running calls may take: zero for no time, <see cref="Timeout.InfiniteTimeSpan"/> for any. A stop that
    /// is under way keeps its own. A method that neither ends by itself nor heeds <see cref="Stopping"/> takes all of
    /// it.
    /// </param>
    /// <param name="cancellationToken">Ends the time early.</param>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    public Task StopAsync(TimeSpan grace, CancellationToken cancellationToken = default)
    {
        if (grace < TimeSpan.Zero && grace != Timeout.InfiniteTimeSpan)
        {
            throw new ArgumentOutOfRangeException(nameof(grace), grace, "The time is zero or more, or infinite.");
        }

        // Longer than timers go is as long as it takes.
        TimeSpan longest = grace <= s_longestGrace ? grace : Timeout.InfiniteTimeSpan;
        lock (_gate)
        {
            if (_stop is null)
            {
                _ = AnnounceStopAsync();
                _stop = _running is null
                    ? Task.CompletedTask
                    : StopRunningAsync(_running, longest, cancellationToken);
            }

            return _stop;
        }
    }

    /// <summary>
    /// Stops at once: running calls are cancelled. Also hurries a stop that is under way. Does not wait for methods
    /// that ignore their token.
    /// </summary>
    public Task KillAsync()
    {
        _hurry.Cancel();
        return StopAsync(TimeSpan.Zero);
    }

    /// <summary>Stops the server as <see cref="KillAsync"/> does.</summary>
    public async ValueTask DisposeAsync() => await KillAsync().ConfigureAwait(false);

    private void Start()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_stop is not null, this);
            if (_running is not null)
            {
                throw new InvalidOperationException(
                    $"The server at {Address} was started already; a server is started once.");
            }

            ServerSettings settings = _settings with { Methods = new MethodTable(Intercepted(), _codecs) };
            try
            {
                _running = new ServerCore(_address, _connectionSettings, settings);
            }
            catch (ConnectException exception)
            {
                throw new ShmTransportException(exception);
            }
        }

        ShmLog.Listening(_logger, _address.SocketPath, Address);
    }

    private ServerServiceDefinition[] Intercepted() =>
    [
        .. Services.Select(service => InterceptedService.Of(service, _interceptors)),
    ];

    // Nobody awaits this: what users have registered runs on the pool and cannot hold up or break the stop.
    private async Task AnnounceStopAsync()
    {
        try
        {
            await _stopping.CancelAsync().ConfigureAwait(false);
        }
        catch (AggregateException exception)
        {
            ShmLog.StoppingCallbackThrew(_logger, Address, exception);
        }
    }

    private async Task StopRunningAsync(ServerCore running, TimeSpan grace, CancellationToken cancellationToken)
    {
        using var hurry = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _hurry.Token);
        await running.StopAsync(grace, hurry.Token).ConfigureAwait(false);
        ShmLog.StoppedListening(_logger, _address.SocketPath, Address);
    }
}
