using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>Throws at every call of a client, before or after it continues the call.</summary>
internal sealed class ThrowingInterceptor(bool isAfter) : Interceptor
{
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
    {
        _ = isAfter ? continuation(request, context) : null;
        throw new KeyNotFoundException();
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation) =>
        Throw(isAfter ? continuation(request, context) : null);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation) =>
        Throw(isAfter ? continuation(request, context) : null);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncClientStreamingCallContinuation<TRequest, TResponse> continuation) =>
        Throw(isAfter ? continuation(context) : null);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation) =>
        Throw(isAfter ? continuation(context) : null);

    // The caller never receives a continued call when this throws, so the call is disposed here.
    private static TCall Throw<TCall>(TCall? call)
        where TCall : class, IDisposable
    {
        call?.Dispose();
        throw new KeyNotFoundException();
    }
}
