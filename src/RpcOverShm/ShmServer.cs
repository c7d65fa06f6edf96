using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Scheduling;
using RpcOverShm.Servers;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>A server of gRPC services for other processes of the same machine, over shared memory.</summary>
/// <remarks>
/// <para>
/// Add services to <see cref="Services"/>, start the server, and stop or dispose it; a server starts once. One live
/// server holds an address; if it was killed, the next server takes the address over at once.
/// </para>
/// <para>
/// The <see cref="ServerCallContext.Peer"/> of a call is <c>shm:pid=26001;session=3</c>: the client's process, and the
/// number of the session (<see cref="ShmSession"/>) on this server. The process id is that of the process that
/// connected, at that time: the process may have passed the connection on or have ended, and its id may have been
/// reused. It is 0 if the client runs in a pid namespace that this process cannot see, such as that of another
/// container.
/// </para>
/// <para>
/// Thread-safe. The code that creates a server disposes it. Once started, a server runs until then, even if nothing
/// refers to it.
/// </para>
/// </remarks>
public sealed partial class ShmServer : IDisposable, IAsyncDisposable
{
    // Timers do not support a longer time.
    private static readonly TimeSpan s_longestGrace = TimeSpan.FromMilliseconds(int.MaxValue);

    private readonly RendezvousAddress _address;
    private readonly ConnectionSettings _connectionSettings;
    private readonly ServerSettings _settings;
    private readonly IReadOnlyList<MarshallerProvider> _codecs;
    private readonly Interceptor[] _interceptors;
    private readonly Inspectors? _observer;
    private readonly ILogger _logger;
    private readonly UninterruptibleLock _lock = new();
    private readonly CancellationTokenSource _hurry = new();
    private readonly CancellationTokenSource _stopping = new();
    private ServerCore? _running;
    private Task? _stop;
    private long _graceEnd = long.MaxValue; // in ticks of Environment; under the lock

    /// <summary>Creates a server that does not listen yet.</summary>
    /// <param name="address">
    /// <c>shm://name</c>, where the name consists of segments of letters, digits, '.', '-' and '_', separated by '/',
    /// with at most 200 characters in all; or <c>shm:///path</c> for the path of the socket file, in a directory that
    /// exists.
    /// </param>
    /// <param name="options">The settings; null for the defaults.</param>
    /// <exception cref="ArgumentNullException">The address is null.</exception>
    /// <exception cref="ArgumentException">
    /// The address or an option is invalid; the message says what is allowed.
    /// </exception>
    public ShmServer(string address, ShmServerOptions? options = null)
    {
        options ??= new ShmServerOptions();
        _address = options.Listen.Parse(address);
        _logger = GuardedLogger.Of<ShmServer>(options.LoggerFactory);
        ServerLimits limits = options.Limits.ToServerLimits(
            nameof(ShmServerOptions.Limits), options.MaxReceiveMessageSize);
        _observer = Inspectors.Of(options.MessageInspectors);
        _connectionSettings = options.ToConnectionSettings(_address, limits, _logger);
        _settings = options.ToServerSettings(Address, limits, _logger);
        _codecs = options.ToProviders();
        _interceptors = options.ToInterceptors();
        Services = new ShmServiceCollection(this);
    }

    /// <summary>Gets the services; they must be added before the server starts.</summary>
    public ShmServiceCollection Services { get; }

    /// <summary>Gets the address that was passed to the constructor.</summary>
    public string Address => _address.Text;

    /// <summary>
    /// Gets a token that is cancelled when the server begins to stop or to be disposed, before it waits for running
    /// calls.
    /// </summary>
    /// <remarks>
    /// <para>
    /// A method whose duration depends on the client, such as a watch, should end when this token or the token of its
    /// call is cancelled. Otherwise it delays the stop for the whole grace period: a stop cancels the tokens of calls
    /// only after that. Services of ASP.NET Core use <c>IHostApplicationLifetime.ApplicationStopping</c> for the same
    /// purpose.
    /// </para>
    /// <para>
    /// The token is cancelled before the method that stops the server returns its task, even if the server was never
    /// started. Callbacks run on the thread pool, one after the other, and the stop does not wait for them: a callback
    /// that blocks delays only the callbacks after it, and the server logs the exception of a callback that throws.
    /// Thread-safe; the token may be used after the server was disposed.
    /// </para>
    /// </remarks>
    public CancellationToken Stopping => _stopping.Token;

    /// <summary>Occurs when a client's channel has connected.</summary>
    /// <remarks>
    /// Runs on the thread pool. The first calls of the session may run at the same time or before. The server logs the
    /// exception of a handler.
    /// </remarks>
    public event EventHandler<ShmSession>? SessionStarted;

    /// <summary>Occurs when the connection of a client's channel was closed.</summary>
    /// <remarks>
    /// Runs on the thread pool, after the handlers of <see cref="SessionStarted"/> and after
    /// <see cref="ShmSession.Closed"/> was cancelled. A method of the session that ignores its token may still run. A
    /// stop of the server waits for handlers, at most for its grace period. The server logs the exception of a handler.
    /// </remarks>
    public event EventHandler<ShmSession>? SessionEnded;

    /// <summary>Whether the server was started, even if it has stopped since.</summary>
    internal bool IsStarted
    {
        get
        {
            using (_lock.Enter())
            {
                return _running is not null;
            }
        }
    }

    /// <summary>The running server; null before the start. For tests.</summary>
    internal ServerCore? Running => _running;

    /// <summary>Takes the address and starts to serve calls.</summary>
    /// <param name="cancellationToken">Cancels the start; checked once, before the server takes the address.</param>
    /// <returns>A task that completes when the server listens; exceptions are reported by the task.</returns>
    /// <exception cref="ShmTransportException">
    /// A live server holds the address (<see cref="ShmTransportError.AddressInUse"/>), or the address cannot be
    /// created. The server may be started again later.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">The system is not Linux.</exception>
    /// <exception cref="InvalidOperationException">The server was already started.</exception>
    /// <exception cref="ArgumentException">
    /// Two services have a method of the same name, or no codec serialises the messages of a <see cref="ShmMethod"/>.
    /// </exception>
    /// <exception cref="ObjectDisposedException">The server was stopped or disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <remarks>An exception of <see cref="ShmCodec.CreateMarshaller{T}"/> is reported as well.</remarks>
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

    /// <summary>Stops the server: gives the running calls time to end, then cancels them.</summary>
    /// <param name="grace">
    /// The time that running calls may take. Zero kills the server: calls are cancelled at once.
    /// <para>Null, or <see cref="Timeout.InfiniteTimeSpan"/>, means no limit.</para>
    /// </param>
    /// <param name="cancellationToken">
    /// Ends the grace period early, like that of <c>IHostedService.StopAsync</c>: the server still stops in order, and
    /// the task completes without an exception.
    /// </param>
    /// <returns>A task that completes when the server has stopped and the files of its address are removed.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    /// <remarks>
    /// <para>
    /// Cancels <see cref="Stopping"/> and refuses new clients. New calls of connected clients go to the next server, or
    /// fail with <see cref="StatusCode.Unavailable"/>. One-way calls that were sent before still run, and so do calls
    /// of callbacks that running methods may wait for. After the grace period the tokens of the running calls are
    /// cancelled, and their clients see <see cref="StatusCode.Unavailable"/>. The server does not wait for methods that
    /// ignore their token, except up to two seconds for the release of instances that they use.
    /// </para>
    /// <para>
    /// If a stop is in progress, the call waits for the same end. The grace period then ends at the earliest time that
    /// any of the calls allows, so a later call can shorten it but not extend it. If the server has stopped, does
    /// nothing; if it was never started, only cancels <see cref="Stopping"/>.
    /// </para>
    /// <para>
    /// A method that neither ends by itself nor observes <see cref="Stopping"/>, such as a health watch, uses the whole
    /// grace period. A client that does not run, such as a process that a debugger holds, or that is busy with a
    /// callback that no method waits for, delays the stop by about a second at most.
    /// </para>
    /// <para>
    /// A method of the server, or a handler of a session's start or end, must not wait for a stop: without a grace
    /// period both would wait for ever. It starts the stop and returns.
    /// </para>
    /// </remarks>
    public Task StopAsync(TimeSpan? grace = null, CancellationToken cancellationToken = default)
    {
        TimeSpan longest = grace ?? Timeout.InfiniteTimeSpan;
        if (longest < TimeSpan.Zero && longest != Timeout.InfiniteTimeSpan)
        {
            throw new ArgumentOutOfRangeException(
                nameof(grace), grace, "The time is zero or more, or null or infinite for no limit.");
        }

        var first = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task stop;
        using (_lock.Enter())
        {
            if (_stop is null)
            {
                _ = AnnounceStopAsync();
                _stop = first.Task;
            }

            stop = _stop;
            LimitGrace(longest);
        }

        // Outside the lock: the rest of a stop may run on this thread, also the user's logger.
        if (longest == TimeSpan.Zero)
        {
            _hurry.Cancel();
        }

        if (stop == first.Task)
        {
            _ = StopOnceAsync(first);
        }

        return cancellationToken.CanBeCanceled ? HurriedAsync(stop, cancellationToken) : stop;
    }

    /// <summary>
    /// Stops the server at once, as <see cref="StopAsync"/> with a grace of zero, and waits until that is done.
    /// </summary>
    /// <remarks>
    /// May be called on any thread, also in a method of the server: running methods are cancelled, and it waits for
    /// none of them, but for the release of instances as <see cref="StopAsync"/> says. <see cref="DisposeAsync"/> does
    /// the same without blocking. A second call waits for the same end.
    /// </remarks>
    public void Dispose()
    {
        Task stop = StopAsync(TimeSpan.Zero);
        if (!stop.IsCompleted)
        {
            // In a method that runs inline, this thread has the event loop that closes the connections.
            LoopThread.LeaveLoopBeforeSleep();
        }

        stop.GetAwaiter().GetResult();
    }

    /// <summary>Stops the server at once, as <see cref="StopAsync"/> with a grace of zero.</summary>
    public async ValueTask DisposeAsync() => await StopAsync(TimeSpan.Zero).ConfigureAwait(false);

    private void Start()
    {
        string path;
        using (_lock.Enter())
        {
            if (_stop is not null)
            {
                throw new ObjectDisposedException(
                    typeof(ShmServer).FullName,
                    $"The server at {Address} was stopped, and a server is started once. Create another ShmServer.");
            }

            if (_running is not null)
            {
                throw new InvalidOperationException(
                    $"The server at {Address} was started already; a server is started once.");
            }

            var methods = new MethodTable(
                Intercepted(), _codecs, Services.OrderedMethods, _observer, PayloadMarshallers.Instance);
            ServerSettings settings = _settings with { Methods = methods };
            try
            {
                _running = new ServerCore(_address, _connectionSettings, settings, new SessionEvents(this));
                path = _running.Place;
            }
            catch (ConnectException exception)
            {
                throw new ShmTransportException(exception);
            }
        }

        ShmLog.Listening(_logger, path, Address);
    }

    private ServerServiceDefinition[] Intercepted() =>
    [
        .. Services.Select(service => InterceptingBinder.Intercept(service, _interceptors)),
    ];

    // Not awaited: the callbacks of users run on the pool and can neither delay nor fail the stop.
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

    // Under the lock. A time of zero is for the caller, because the cancellation runs code.
    private void LimitGrace(TimeSpan grace)
    {
        if (grace <= TimeSpan.Zero || grace > s_longestGrace)
        {
            return;
        }

        long end = Environment.TickCount64 + (long)grace.TotalMilliseconds;
        if (end < _graceEnd)
        {
            _graceEnd = end;
            _hurry.CancelAfter(grace);
        }
    }

    private async Task HurriedAsync(Task stop, CancellationToken cancellationToken)
    {
        CancellationTokenRegistration hurried = cancellationToken.UnsafeRegister(
            static hurry => ((CancellationTokenSource)hurry!).Cancel(), _hurry);
        await using (hurried.ConfigureAwait(false))
        {
            await stop.ConfigureAwait(false);
        }
    }

    private async Task StopOnceAsync(TaskCompletionSource stop)
    {
        Task stopping = _running is { } running ? StopRunningAsync(running) : Task.CompletedTask;
        await stopping.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);

        // Ends the timer of the grace period.
        _hurry.Cancel();
        stop.SetFromTask(stopping);
    }

    private async Task StopRunningAsync(ServerCore running)
    {
        await running.StopAsync(_hurry.Token).ConfigureAwait(false);
        ShmLog.StoppedListening(_logger, running.Place, Address);
    }
}
