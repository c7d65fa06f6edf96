using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>Records the unary calls that a generated client makes through it; calls of other shapes throw.</summary>
internal sealed class BatchCallInvoker(ShmCallInvoker invoker, CallBatch batch) : CallInvoker
{
    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        ClientMethod<TRequest, TResponse> bound = invoker.Bind(method);
        var call = new SingleResponseCall<TResponse>(bound, waiter: null);
        if (!batch.TryAdd(call, out bool isFirst))
        {
            throw new InvalidOperationException("The batch was sent or disposed; no more calls can be recorded.");
        }

        batch.OnStarted(call, invoker.Start(call, bound, host, options, request, isDeferred: !isFirst));
        return CallPresentation.Unary(call, call.ResponseAsync);
    }

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        throw NotInBatch("A blocking call cannot be recorded");

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        throw NotInBatch("A stream cannot be recorded");

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        throw NotInBatch("A stream cannot be recorded");

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        throw NotInBatch("A stream cannot be recorded");

    private static InvalidOperationException NotInBatch(string why) =>
        new($"{why}. A batch takes asynchronous unary calls only; make others through the channel itself.");
}
