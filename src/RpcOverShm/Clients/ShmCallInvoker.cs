using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <summary>
/// Starts calls of every shape on one channel. If there are listeners of traces or metrics when a call starts, the call
/// is observed until its end. This class only connects the parts; the call classes have the logic.
/// </summary>
internal sealed partial class ShmCallInvoker : CallInvoker
{
    private readonly ConnectionProvider _connections;
    private readonly ClientSettings _settings;
    private readonly CallStarter _starter;
    private readonly ConditionalWeakTable<IMethod, object> _methods = [];
    private object? _lastMethod;

    public ShmCallInvoker(ConnectionProvider connections, ClientSettings settings)
    {
        _connections = connections;
        _settings = settings;
        _starter = new CallStarter(connections, settings);
    }

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (_mode != CallMode.Plain)
        {
            return BlockInMode(method, host, options, request);
        }

        if (_settings.YieldsInstance && RunningCall.Current is { InstanceTicket: not null } parent)
        {
            return BlockYielding(parent, method, host, options, request);
        }

        return BlockPlain(method, host, options, request);
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (_mode != CallMode.Plain)
        {
            return UnaryInMode(method, host, options, request);
        }

        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, latch: null);
        _ = StartAsync(call, bound, host, options, request);
        return CallPresentation.Unary(call, call.PresentResponse(waits: true));
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ThrowUnlessPlain(method);
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new StreamResponseCall<TResponse>(bound);
        _ = StartAsync(call, bound, host, options, request);
        return CallPresentation.ServerStream(call, call.Responses);
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        ThrowUnlessPlain(method);
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, latch: null);
        RequestStreamWriter<TRequest> requests = StartStream(call, bound, host, options);
        return CallPresentation.ClientStream(call, requests, call.PresentResponse(waits: false));
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        ThrowUnlessPlain(method);
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new StreamResponseCall<TResponse>(bound);
        return CallPresentation.Duplex(call, StartStream(call, bound, host, options), call.Responses);
    }

    /// <summary>Returns the method as this channel calls it. A failure is that of an observed call.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ClientMethod<TRequest, TResponse> Bind<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        try
        {
            _connections.ThrowIfShutDown();
            if (Volatile.Read(ref _lastMethod) is ClientMethod<TRequest, TResponse> last && last.Is(method))
            {
                return last;
            }

            object bound = _methods.TryGetValue(method, out object? known)
                ? known
                : _methods.GetOrAdd(method, new ClientMethod<TRequest, TResponse>(method, _starter, _settings));
            Volatile.Write(ref _lastMethod, bound);
            return (ClientMethod<TRequest, TResponse>)bound;
        }
        catch (Exception failure) when (method is not null)
        {
            _ = RecordFailedStart(method, failure);
            throw;
        }
    }

    /// <summary>
    /// Starts an awaited call with one request; if the channel was shut down, the call fails. A deferred call may be
    /// published together with later calls. The attempts of a retried call are not observed, because the retried call
    /// is.
    /// </summary>
    /// <returns>
    /// Completes when the call is on its way or has ended; completes at once if the call asks for credentials, which
    /// may be slow. Does not fail.
    /// </returns>
    public Task StartAsync<TRequest, TResponse>(
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
        Prepare(call, method, options);
        if (isObservable && Telemetry.IsClientWatched)
        {
            return StartObservedAsync(call, method, host, options, request, isDeferred);
        }

        bool needsCredentials = _starter.NeedsCredentials(options);
        var inputs = RequestHeadInputs.Of(method.FullName, host, options);
        if (call.TryArm(options, method.Timeout, needsCredentials))
        {
            if (!needsCredentials)
            {
                return method.StartAsync(call, inputs, request, isDeferred);
            }

            _ = StartWithCredentialsAsync(call, method, inputs, options.Credentials, request);
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
        Prepare(call, method, options);
        if (isObservable && Telemetry.IsClientWatched)
        {
            return StartStreamObserved(call, method, host, options);
        }

        bool needsCredentials = _starter.NeedsCredentials(options);
        var inputs = RequestHeadInputs.Of(method.FullName, host, options);
        Task<Connection?> started = !call.TryArm(options, method.Timeout, needsCredentials)
            ? CallStarter.NoConnection
            : needsCredentials
                ? StartStreamWithCredentialsAsync(call, inputs, options.Credentials)
                : _starter.StartAsync(call, inputs, request: null);
        return new RequestStreamWriter<TRequest>(
            call,
            method.RequestMarshallerOf(call.Inspection, isStream: true),
            _settings.MaxSendMessageBytes,
            started,
            inputs.Encoding is not null)
        {
            WriteOptions = CarriedHandles.PlainOf(options.WriteOptions),
        };
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private TResponse BlockPlain<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, in CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class
    {
        if (_starter.NeedsCredentials(options) || options.WriteOptions is CarriedHandles)
        {
            return BlockOnAsyncCall(this, method, host, options, request);
        }

        ClientMethod<TRequest, TResponse> bound = Bind(method);
        return Telemetry.IsClientWatched
            ? bound.RunObserved(host, options, request, bound.Inspect(options))
            : bound.Run(host, options, request, bound.Inspect(options));
    }

    private void Prepare<TRequest, TResponse>(
        ClientCall call, ClientMethod<TRequest, TResponse> method, in CallOptions options)
        where TRequest : class
        where TResponse : class
    {
        if (_settings.Observer is not null)
        {
            call.Inspection ??= method.Inspect(options);
        }

        if (options.WriteOptions is CarriedHandles handles && call.Handles is null)
        {
            call.Handles = handles;
            handles.Received?.Close(isLast: false); // what an earlier attempt got
        }

        if (_settings.YieldsInstance && !call.IsOneWay)
        {
            call.Parent ??= RunningCall.Current;
        }
    }

    // Separate methods, as those below: a method that contains a lambda allocates the captured variables at its start,
    // which would also burden calls without.
    private Task StartObservedAsync<TRequest, TResponse>(
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
            return StartAsync(call, method, host, observed, request, isDeferred, isObservable: false);
        });

    private RequestStreamWriter<TRequest> StartStreamObserved<TRequest, TResponse>(
        ClientCall call, ClientMethod<TRequest, TResponse> method, string? host, in CallOptions options)
        where TRequest : class
        where TResponse : class => method.Observe(options, (observed, observation) =>
        {
            call.Observe(observation);
            return StartStream(call, method, host, observed, isObservable: false);
        });

    private Task<Connection?> StartWithCredentialsAsync<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        RequestHeadInputs inputs,
        CallCredentials? own,
        TRequest request)
        where TRequest : class
        where TResponse : class => _starter.StartWithCredentialsAsync(
            call,
            inputs,
            own,
            withMetadata => method.StartAsync(call, withMetadata, request));

    private Task<Connection?> StartStreamWithCredentialsAsync(
        ClientCall call, RequestHeadInputs inputs, CallCredentials? own) => _starter.StartWithCredentialsAsync(
            call, inputs, own, withMetadata => _starter.StartAsync(call, withMetadata, request: null));
}
