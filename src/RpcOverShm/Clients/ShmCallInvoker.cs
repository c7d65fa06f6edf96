using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>The five call shapes of gRPC over one channel. Wiring only: what a call does is in its own class.</summary>
internal sealed class ShmCallInvoker(ConnectionSource connections, ClientSettings settings) : CallInvoker
{
    private readonly CallStarter _starter = new(connections, settings);
    private readonly ConditionalWeakTable<IMethod, object> _methods = [];
    private object? _lastMethod;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = Bind(method);
        var call = SingleResponseCall<TResponse>.ForThisThread(bound);
        if (call.TryArm(CallTimeout.Of(options), options.CancellationToken))
        {
            var target = new CallTarget(bound.FullName, host, options.Headers);
            RequestParts? parts = bound.IsLarge ? RequestParts.For(_starter, call, target) : null;
            if (TrySerialize(call, bound, request, parts) is { } context)
            {
                Run(call, target, parts?.Connection, context);
            }

            parts?.Release();
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
        return ClientMethod<TRequest, TResponse>.Get(ref _lastMethod, _methods, method, settings);
    }

    private void StartWithRequest<TRequest, TResponse>(
        ClientCall call,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class
    {
        if (!call.TryArm(CallTimeout.Of(options), options.CancellationToken))
        {
            return;
        }

        var target = new CallTarget(method.FullName, host, options.Headers);
        RequestParts? parts = method.IsLarge ? RequestParts.For(_starter, call, target) : null;
        if (TrySerialize(call, method, request, parts) is { } context)
        {
            using (context)
            {
                _ = parts?.Connection is { } begunOn
                    ? begunOn.SendRequestAsync(call, context.Bytes)
                    : _starter.Start(call, target, context.Bytes) as Task;
            }
        }

        parts?.Release();
    }

    private void Run(ClientCall call, in CallTarget target, Connection? begunOn, FrameSerializationContext context)
    {
        using (context)
        {
            if (begunOn is null)
            {
                _starter.Run(call, target, context.Bytes);
            }
            else
            {
                begunOn.FinishCall(call, context.Bytes);
            }
        }
    }

    private RequestStreamWriter<TRequest> StartWithStream<TRequest, TResponse>(
        ClientCall call, ClientMethod<TRequest, TResponse> method, string? host, in CallOptions options)
        where TRequest : class
        where TResponse : class
    {
        Task<Connection?> started = call.TryArm(CallTimeout.Of(options), options.CancellationToken)
            ? _starter.Start(call, new CallTarget(method.FullName, host, options.Headers), request: null)
            : CallStarter.None;
        return new RequestStreamWriter<TRequest>(
            call, method.RequestMarshaller, settings.MaxSendMessageBytes, started, options.WriteOptions);
    }

    /// <summary>Serialises a request; null when the call has ended with that.</summary>
    /// <param name="call">The call.</param>
    /// <param name="method">Its method.</param>
    /// <param name="request">What to serialise.</param>
    /// <param name="parts">Where parts of it may go meanwhile; null for nowhere.</param>
    public FrameSerializationContext? TrySerialize<TRequest, TResponse>(
        ClientCall call, ClientMethod<TRequest, TResponse> method, TRequest request, IMessageParts? parts)
        where TRequest : class
        where TResponse : class
    {
        try
        {
            var context = FrameSerializationContext.Serialize(
                method.RequestMarshaller, request, settings.MaxSendMessageBytes, parts);
            method.NoteRequest(context.Length);
            return context;
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromRequestFailure(exception));
            return null;
        }
    }
}
