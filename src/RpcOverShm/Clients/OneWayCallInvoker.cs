using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// Makes the unary calls of a generated client as one-way calls; calls of other shapes throw. A call has no span of its
/// own: while somebody listens, it carries the context of the caller's.
/// </summary>
internal sealed class OneWayCallInvoker(ShmCallInvoker invoker) : CallInvoker
{
    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = invoker.Bind(method, isObservable: false);
        var call = new OneWayCall<TResponse>(bound, waiter: null);
        invoker.StartOneWay(call, bound, host, options, request);
        return CallPresentation.Unary(call, call.ResponseAsync);
    }

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        invoker.NeedsCredentials(options)
            ? ShmCallInvoker.Block(this, method, host, options, request)
            : invoker.RunOneWay(method, host, options, request);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        throw NotOneWay(method);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        throw NotOneWay(method);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        throw NotOneWay(method);

    private static InvalidOperationException NotOneWay(IMethod method) => new(
        $"{method.FullName} has a stream. Only unary methods can be called one-way; call others through the channel "
        + "itself.");
}
