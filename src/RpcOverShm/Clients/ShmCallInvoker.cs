using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>Starts calls of gRPC's five shapes on one channel. Wiring only: the call classes hold the logic.</summary>
internal sealed class ShmCallInvoker(Subchannel connections, ClientSettings settings) : CallInvoker
{
    private readonly CallStarter _starter = new(connections, settings);
    private readonly ConditionalWeakTable<IMethod, object> _methods = [];
    private readonly CredentialedCalls _credentials = new(settings, connections.ShutdownToken);
    private object? _lastMethod;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (_credentials.AreNeeded(options))
        {
            return BlockWithCredentials(method, host, options, request);
        }

        ClientMethod<TRequest, TResponse> bound = Bind(method);
        RequestHeadInputs target = Target(bound, host, options);
        var call = SingleResponseCall<TResponse>.ForThisThread(bound);
        if (call.TryArm(options))
        {
            bound.Run(call, target, request);
        }

        return call.TakeResponse();
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        connections.ThrowIfShutDown();
        return Present(StartUnary(method, host, options, request, end: null));
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        connections.ThrowIfShutDown();
        StreamResponseCall<TResponse> call = StartServerStream(method, host, options, request, end: null);
        return new AsyncServerStreamingCall<TResponse>(
            call.Responses,
            CallAccess.GetHeaders,
            CallAccess.GetStatus,
            CallAccess.GetTrailers,
            CallAccess.Dispose,
            call);
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        connections.ThrowIfShutDown();
        SingleResponseCall<TResponse> call = StartClientStream(
            method, host, options, end: null, out RequestStreamWriter<TRequest> requests);
        return new AsyncClientStreamingCall<TRequest, TResponse>(
            requests,
            call.ResponseAsync,
            CallAccess.GetHeaders,
            CallAccess.GetStatus,
            CallAccess.GetTrailers,
            CallAccess.Dispose,
            call);
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        connections.ThrowIfShutDown();
        StreamResponseCall<TResponse> call = StartDuplex(
            method, host, options, end: null, out RequestStreamWriter<TRequest> requests);
        return new AsyncDuplexStreamingCall<TRequest, TResponse>(
            requests,
            call.Responses,
            CallAccess.GetHeaders,
            CallAccess.GetStatus,
            CallAccess.GetTrailers,
            CallAccess.Dispose,
            call);
    }

    /// <summary>Starts an awaited unary call. If the channel was shut down, the call fails.</summary>
    /// <param name="method">The method.</param>
    /// <param name="host">The authority that the caller has set; null for none.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="request">The request.</param>
    /// <param name="end">The outcome of a call that has ended already and is not sent; null to send it.</param>
    public SingleResponseCall<TResponse> StartUnary<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, in CallOptions options, TRequest request, CallOutcome? end)
        where TRequest : class
        where TResponse : class
    {
        ClientMethod<TRequest, TResponse> bound = Known(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        _ = StartWithRequest(call, bound, host, options, request, end);
        return call;
    }

    /// <summary>Creates a unary call, which the caller then starts with <see cref="Start"/>.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public SingleResponseCall<TResponse> Create<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class => new(Bind(method), waiter: null);

    /// <summary>Starts a call of a batch.</summary>
    /// <returns>
    /// Completes when the call is on its way or has ended; completes at once if the call asks for credentials, which
    /// may be slow. Does not fail.
    /// </returns>
    public Task Start<TRequest, TResponse>(
        SingleResponseCall<TResponse> call,
        Method<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request,
        bool isDeferred)
        where TRequest : class
        where TResponse : class =>
        StartWithRequest(call, Known(method), host, options, request, end: null, isDeferred);

    /// <summary>Starts a call with a stream of responses; see <see cref="StartUnary"/>.</summary>
    public StreamResponseCall<TResponse> StartServerStream<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, in CallOptions options, TRequest request, CallOutcome? end)
        where TRequest : class
        where TResponse : class
    {
        ClientMethod<TRequest, TResponse> bound = Known(method);
        var call = new StreamResponseCall<TResponse>(bound);
        _ = StartWithRequest(call, bound, host, options, request, end);
        return call;
    }

    /// <summary>Starts a call with a stream of requests; see <see cref="StartUnary"/>.</summary>
    public SingleResponseCall<TResponse> StartClientStream<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        CallOutcome? end,
        out RequestStreamWriter<TRequest> requests)
        where TRequest : class
        where TResponse : class
    {
        ClientMethod<TRequest, TResponse> bound = Known(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        requests = StartWithStream(call, bound, host, options, end);
        return call;
    }

    /// <summary>Starts a call with streams both ways; see <see cref="StartUnary"/>.</summary>
    public StreamResponseCall<TResponse> StartDuplex<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        CallOutcome? end,
        out RequestStreamWriter<TRequest> requests)
        where TRequest : class
        where TResponse : class
    {
        ClientMethod<TRequest, TResponse> bound = Known(method);
        var call = new StreamResponseCall<TResponse>(bound);
        requests = StartWithStream(call, bound, host, options, end);
        return call;
    }

    /// <summary>Wraps the call in the object that gRPC hands to users.</summary>
    public static AsyncUnaryCall<TResponse> Present<TResponse>(SingleResponseCall<TResponse> call)
        where TResponse : class =>
        new(
            call.ResponseAsync,
            CallAccess.GetHeaders,
            CallAccess.GetStatus,
            CallAccess.GetTrailers,
            CallAccess.Dispose,
            call);

    /// <summary>Returns the method as this channel calls it.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ClientMethod<TRequest, TResponse> Bind<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        connections.ThrowIfShutDown();
        return Known(method);
    }

    private ClientMethod<TRequest, TResponse> Known<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class =>
        ClientMethod<TRequest, TResponse>.Get(ref _lastMethod, _methods, method, _starter, settings);

    private static bool HasEnded(ClientCall call, CallOutcome? end) =>
        end is not null && call.Finish(end, isCancel: false);

    private static RequestHeadInputs Target<TRequest, TResponse>(
        ClientMethod<TRequest, TResponse> method, string? host, in CallOptions options)
        where TRequest : class
        where TResponse : class =>
        RequestHeadInputs.Of(method.FullName, host, options);

    private Task<Connection?> StartWithRequest<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request,
        CallOutcome? end,
        bool isDeferred = false)
        where TRequest : class
        where TResponse : class
    {
        bool needsCredentials = _credentials.AreNeeded(options);
        RequestHeadInputs target = Target(method, host, options);
        if (HasEnded(call, end) || !call.TryArm(options, isLongBegun: needsCredentials))
        {
            return CallStarter.None;
        }

        if (!needsCredentials)
        {
            return method.Start(call, target, request, isDeferred);
        }

        StartWithCredentials(call, method, target, options, request);
        return CallStarter.None;
    }

    private RequestStreamWriter<TRequest> StartWithStream<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        CallOutcome? end)
        where TRequest : class
        where TResponse : class
    {
        bool needsCredentials = _credentials.AreNeeded(options);
        RequestHeadInputs target = Target(method, host, options);
        Task<Connection?> started = HasEnded(call, end) || !call.TryArm(options, isLongBegun: needsCredentials)
            ? CallStarter.None
            : needsCredentials
                ? StartStreamWithCredentials(call, target, options)
                : _starter.Start(call, target, request: null);
        return new RequestStreamWriter<TRequest>(
            call, method.RequestMarshaller, settings.MaxSendMessageBytes, started, target.Encoding is not null)
        {
            WriteOptions = options.WriteOptions,
        };
    }

    // Separate methods: a method that contains a lambda allocates the captured variables at its start, which would
    // also burden calls without credentials.
    private TResponse BlockWithCredentials<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class =>
        CredentialedCalls.Block(() => AsyncUnaryCall(method, host, options, request));

    private void StartWithCredentials<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        RequestHeadInputs target,
        CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class =>
        _ = _credentials.StartAsync(call, target, options.Credentials, withMetadata =>
        {
            _ = method.Start(call, withMetadata, request);
            return CallStarter.None;
        });

    private Task<Connection?> StartStreamWithCredentials(
        ClientCall call, RequestHeadInputs target, CallOptions options) =>
        _credentials.StartAsync(
            call, target, options.Credentials, withMetadata => _starter.Start(call, withMetadata, request: null));
}

/// <summary>Delegates for gRPC's call objects, created once; each takes the call as its state.</summary>
internal static class CallAccess
{
    public static readonly Func<object, Task<Metadata>> GetHeaders = static call =>
        ((ClientCall)call).GetHeadersAsync();

    public static readonly Func<object, Status> GetStatus = static call => ((ClientCall)call).Status;

    public static readonly Func<object, Metadata> GetTrailers = static call => ((ClientCall)call).Trailers;

    public static readonly Action<object> Dispose = static call => ((ClientCall)call).Dispose();
}
