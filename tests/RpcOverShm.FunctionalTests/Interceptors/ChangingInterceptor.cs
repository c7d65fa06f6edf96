using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>Changes the options of calls of every shape, and optionally their method and host.</summary>
internal sealed class ChangingInterceptor(Func<CallOptions, CallOptions> change) : Interceptor
{
    /// <summary>The name of the method to call instead; null keeps the call's.</summary>
    public string? Method { get; init; }

    /// <summary>The host of all calls; null keeps the call's.</summary>
    public string? Host { get; init; }

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation) => continuation(request, Change(context));

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation) => continuation(request, Change(context));

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation) =>
        continuation(request, Change(context));

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncClientStreamingCallContinuation<TRequest, TResponse> continuation) => continuation(Change(context));

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation) => continuation(Change(context));

    private ClientInterceptorContext<TRequest, TResponse> Change<TRequest, TResponse>(
        in ClientInterceptorContext<TRequest, TResponse> context)
        where TRequest : class
        where TResponse : class
    {
        Method<TRequest, TResponse> method = context.Method;
        if (Method is not null)
        {
            method = new Method<TRequest, TResponse>(
                method.Type, method.ServiceName, Method, method.RequestMarshaller, method.ResponseMarshaller);
        }

        return new ClientInterceptorContext<TRequest, TResponse>(
            method, Host ?? context.Host, change(context.Options));
    }
}
