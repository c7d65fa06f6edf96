using System.Diagnostics;
using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// Starts calls of every shape on one channel. While somebody listens, calls are observed from here to their end; a
/// listener that comes later misses the calls that have begun. Wiring only: the call classes hold the logic.
/// </summary>
internal sealed class ShmCallInvoker(ConnectionProvider connections, ClientSettings settings) : CallInvoker
{
    private readonly CallStarter _starter = new(connections, settings);
    private readonly OneWayStarter _oneWay = new(new CallStarter(connections, settings), settings);
    private readonly ConditionalWeakTable<IMethod, object> _methods = [];
    private object? _lastMethod;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (_starter.NeedsCredentials(options))
        {
            return Block(this, method, host, options, request);
        }

        ClientMethod<TRequest, TResponse> bound = Bind(method);
        return Telemetry.IsClientWatched
            ? bound.RunObserved(host, options, request, bound.Inspect(options))
            : bound.Run(host, options, request, bound.Inspect(options));
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        _ = Start(call, bound, host, options, request);
        return CallPresentation.Unary(call, call.ResponseAsync);
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new StreamResponseCall<TResponse>(bound);
        _ = Start(call, bound, host, options, request);
        return CallPresentation.ServerStream(call, call.Responses);
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        return CallPresentation.ClientStream(call, StartStream(call, bound, host, options), call.ResponseAsync);
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new StreamResponseCall<TResponse>(bound);
        return CallPresentation.Duplex(call, StartStream(call, bound, host, options), call.Responses);
    }

    /// <summary>Whether a call with these options asks credentials for metadata first.</summary>
    public bool NeedsCredentials(in CallOptions options) => _starter.NeedsCredentials(options);

    /// <summary>
    /// Makes an awaited call and blocks for its response, also on a thread with a synchronization context.
    /// </summary>
    public static TResponse Block<TRequest, TResponse>(
        CallInvoker invoker, Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        AsyncUnaryCall<TResponse> Make() => invoker.AsyncUnaryCall(method, host, options, request);

        // The user's credentials may continue on this thread's context. That would deadlock while the thread blocks.
        bool hasContext = SynchronizationContext.Current is not null || TaskScheduler.Current != TaskScheduler.Default;
        using AsyncUnaryCall<TResponse> call = hasContext ? WaitFor(Task.Run(Make).GetAwaiter()) : Make();
        return call.ResponseAsync.GetAwaiter().GetResult();
    }

    /// <summary>Returns the method as this channel calls it. A failure is that of an observed call.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ClientMethod<TRequest, TResponse> Bind<TRequest, TResponse>(
        Method<TRequest, TResponse> method, bool isObservable = true)
        where TRequest : class
        where TResponse : class
    {
        try
        {
            connections.ThrowIfShutDown();
            if (Volatile.Read(ref _lastMethod) is ClientMethod<TRequest, TResponse> last && last.Is(method))
            {
                return last;
            }

            object bound = _methods.TryGetValue(method, out object? known)
                ? known
                : _methods.GetOrAdd(method, new ClientMethod<TRequest, TResponse>(method, _starter, settings));
            Volatile.Write(ref _lastMethod, bound);
            return (ClientMethod<TRequest, TResponse>)bound;
        }
        catch (Exception failure) when (isObservable && Telemetry.IsClientWatched)
        {
            CallObservation.OfFailure(method.FullName, settings.Authority, failure);
            throw;
        }
    }

    /// <summary>
    /// Starts an awaited call with one request; if the channel was shut down, the call fails. A deferred call may be
    /// published with later calls. An attempt of a retried call is not observable: that call is.
    /// </summary>
    /// <returns>
    /// Completes when the call is on its way or has ended; completes at once if the call asks for credentials, which
    /// may be slow. Does not fail.
    /// </returns>
    public Task Start<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request,
        bool isDeferred = false,
        bool isObservable = true)
        where TRequest : class
        where TResponse : class
    {
        if (settings.Observer is not null)
        {
            call.Inspection ??= method.Inspect(options);
        }

        if (isObservable && Telemetry.IsClientWatched)
        {
            return StartObserved(call, method, host, options, request, isDeferred);
        }

        bool needsCredentials = _starter.NeedsCredentials(options);
        var target = RequestHeadInputs.Of(method.FullName, host, options);
        if (call.TryArm(options, method.Timeout, needsCredentials))
        {
            if (!needsCredentials)
            {
                return method.Start(call, target, request, isDeferred);
            }

            _ = StartWithCredentials(call, method, target, options.Credentials, request);
        }

        return Task.CompletedTask;
    }

    /// <summary>Starts a call with a stream of requests; if the channel was shut down, the call fails.</summary>
    public RequestStreamWriter<TRequest> StartStream<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        bool isObservable = true)
        where TRequest : class
        where TResponse : class
    {
        if (settings.Observer is not null)
        {
            call.Inspection ??= method.Inspect(options);
        }

        if (isObservable && Telemetry.IsClientWatched)
        {
            return StartStreamObserved(call, method, host, options);
        }

        bool needsCredentials = _starter.NeedsCredentials(options);
        var target = RequestHeadInputs.Of(method.FullName, host, options);
        Task<Connection?> started = !call.TryArm(options, method.Timeout, needsCredentials)
            ? CallStarter.None
            : needsCredentials
                ? StartStreamWithCredentials(call, target, options.Credentials)
                : _starter.Start(call, target, request: null);
        return new RequestStreamWriter<TRequest>(
            call,
            method.RequestMarshallerOf(call.Inspection, isStream: true),
            settings.MaxSendMessageBytes,
            started,
            target.Encoding is not null)
        {
            WriteOptions = options.WriteOptions,
        };
    }

    /// <summary>Starts an awaited one-way call; if the channel was shut down, the call fails.</summary>
    public void StartOneWay<TRequest, TResponse>(
        OneWayCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class
    {
        call.Inspection = method.Inspect(options);
        bool needsCredentials = _starter.NeedsCredentials(options);
        var target = RequestHeadInputs.Of(method.FullName, host, WithContext(options));
        if (!call.TryArm(options, method.Timeout, needsCredentials))
        {
            return;
        }

        _ = needsCredentials
            ? StartWithCredentials(call, method, target, options.Credentials, request)
            : _oneWay.Start(call, method, target, request);
    }

    /// <summary>Makes a blocking one-way call; returns when it was sent.</summary>
    public TResponse RunOneWay<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method, isObservable: false);
        var target = RequestHeadInputs.Of(bound.FullName, host, WithContext(options));
        var call = new OneWayCall<TResponse>(bound, AutoResetLatch.OfThisThread) { Inspection = bound.Inspect(options) };
        if (call.TryArm(options, bound.Timeout))
        {
            try
            {
                _oneWay.Run(call, bound, target, request);
            }
            catch
            {
                call.GiveUpBlocking();
                throw;
            }
        }

        return call.TakeResponse();
    }

    private static AsyncUnaryCall<TResponse> WaitFor<TResponse>(TaskAwaiter<AsyncUnaryCall<TResponse>> making)
    {
        try
        {
            return making.GetResult();
        }
        catch (ThreadInterruptedException)
        {
            // Nobody waits for the call that is being made. Making it does not throw.
            making.UnsafeOnCompleted(() => making.GetResult().Dispose());
            throw;
        }
    }

    // A one-way call has no span of its own.
    private static CallOptions WithContext(in CallOptions options) =>
        Telemetry.ClientSource.HasListeners() ? TraceContext.Inject(Activity.Current, options) : options;

    // Separate methods, as those below: a method that contains a lambda allocates the captured variables at its start,
    // which would also burden calls without.
    private Task StartObserved<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request,
        bool isDeferred)
        where TRequest : class
        where TResponse : class => method.Observe(options, (observed, observation) =>
        {
            call.Observe(observation);
            return Start(call, method, host, observed, request, isDeferred, isObservable: false);
        });

    private RequestStreamWriter<TRequest> StartStreamObserved<TRequest, TResponse>(
        ClientCall call, ClientMethod<TRequest, TResponse> method, string? host, in CallOptions options)
        where TRequest : class
        where TResponse : class => method.Observe(options, (observed, observation) =>
        {
            call.Observe(observation);
            return StartStream(call, method, host, observed, isObservable: false);
        });

    private Task<Connection?> StartWithCredentials<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        RequestHeadInputs target,
        CallCredentials? own,
        TRequest request)
        where TRequest : class
        where TResponse : class => _starter.StartWithCredentialsAsync(
            call,
            target,
            own,
            withMetadata => call is OneWayCall oneWay
                ? _oneWay.Start(oneWay, method, withMetadata, request)
                : method.Start(call, withMetadata, request));

    private Task<Connection?> StartStreamWithCredentials(
        ClientCall call, RequestHeadInputs target, CallCredentials? own) => _starter.StartWithCredentialsAsync(
            call, target, own, withMetadata => _starter.Start(call, withMetadata, request: null));
}
