using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>The five call shapes of gRPC over one channel. Wiring only: what a call does is in its own class.</summary>
internal sealed class ShmCallInvoker(ConnectionSource connections, ClientSettings settings) : CallInvoker
{
    private readonly CallStarter _starter = new(connections, settings);
    private readonly ConditionalWeakTable<IMethod, object> _methods = [];
    private readonly CredentialedCalls _credentials = new(settings);
    private object? _lastMethod;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (_credentials.AreNeeded(options))
        {
            return BlockWithCredentials(method, host, options, request);
        }

        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = SingleResponseCall<TResponse>.ForThisThread(bound);
        if (call.TryArm(options))
        {
            bound.Run(call, Target(bound, host, options), request);
        }

        return call.TakeResponse();
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        StartWithRequest(call, bound, host, options, request);
        return Present(call);
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new StreamResponseCall<TResponse>(bound);
        StartWithRequest(call, bound, host, options, request);
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
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        RequestStreamWriter<TRequest> requests = StartWithStream(call, bound, host, options);
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
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = new StreamResponseCall<TResponse>(bound);
        RequestStreamWriter<TRequest> requests = StartWithStream(call, bound, host, options);
        return new AsyncDuplexStreamingCall<TRequest, TResponse>(
            requests,
            call.Responses,
            CallAccess.GetHeaders,
            CallAccess.GetStatus,
            CallAccess.GetTrailers,
            CallAccess.Dispose,
            call);
    }

    /// <summary>The call as gRPC presents it to users.</summary>
    public static AsyncUnaryCall<TResponse> Present<TResponse>(SingleResponseCall<TResponse> call)
        where TResponse : class =>
        new(
            call.ResponseAsync,
            CallAccess.GetHeaders,
            CallAccess.GetStatus,
            CallAccess.GetTrailers,
            CallAccess.Dispose,
            call);

    /// <summary>The method as this channel calls it.</summary>
    /// <exception cref="ObjectDisposedException">The channel was shut down.</exception>
    public ClientMethod<TRequest, TResponse> Bind<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        connections.ThrowIfShutDown();
        return ClientMethod<TRequest, TResponse>.Get(ref _lastMethod, _methods, method, _starter, settings);
    }

    private static CallTarget Target<TRequest, TResponse>(
        ClientMethod<TRequest, TResponse> method, string? host, in CallOptions options)
        where TRequest : class
        where TResponse : class =>
        new(method.FullName, host, options.Headers, options.IsWaitForReady);

    private void StartWithRequest<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class
    {
        bool needsCredentials = _credentials.AreNeeded(options);
        if (!call.TryArm(options, isLongBegun: needsCredentials))
        {
            return;
        }

        CallTarget target = Target(method, host, options);
        if (needsCredentials)
        {
            StartWithCredentials(call, method, target, options, request);
        }
        else
        {
            method.Start(call, target, request);
        }
    }

    private RequestStreamWriter<TRequest> StartWithStream<TRequest, TResponse>(
        ClientCall call, ClientMethod<TRequest, TResponse> method, string? host, in CallOptions options)
        where TRequest : class
        where TResponse : class
    {
        bool needsCredentials = _credentials.AreNeeded(options);
        CallTarget target = Target(method, host, options);
        Task<Connection?> started = !call.TryArm(options, isLongBegun: needsCredentials)
            ? CallStarter.None
            : needsCredentials
                ? StartStreamWithCredentials(call, target, options)
                : _starter.Start(call, target, request: null);
        return new RequestStreamWriter<TRequest>(
            call, method.RequestMarshaller, settings.MaxSendMessageBytes, started, options.WriteOptions);
    }

    // Each by itself: what a lambda captures is allocated where its method begins, also for calls without credentials.
    private TResponse BlockWithCredentials<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class =>
        CredentialedCalls.Block(() => AsyncUnaryCall(method, host, options, request));

    private void StartWithCredentials<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        CallTarget target,
        CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class =>
        _ = _credentials.StartAsync(call, target, options, withMetadata =>
        {
            method.Start(call, withMetadata, request);
            return CallStarter.None;
        });

    private Task<Connection?> StartStreamWithCredentials(ClientCall call, CallTarget target, CallOptions options) =>
        _credentials.StartAsync(
            call, target, options, withMetadata => _starter.Start(call, withMetadata, request: null));
}
