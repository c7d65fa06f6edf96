using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>Observes or changes a client's calls of every shape.</summary>
internal sealed class ClientInterceptor : Interceptor
{
    /// <summary>Runs before each call, with the call's shape and the name of its method.</summary>
    public Action<string, string> Before { get; init; } = static (_, _) => { };

    /// <summary>Runs after each call was continued. If it throws, the call is disposed: no caller gets it.</summary>
    public Action After { get; init; } = static () => { };

    public Func<CallOptions, CallOptions> Change { get; init; } = static options => options;

    /// <summary>The name of the method to call instead; null keeps the call's.</summary>
    public string? Method { get; init; }

    /// <summary>The host of all calls; null keeps the call's.</summary>
    public string? Host { get; init; }

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation) =>
        End(continuation(request, Begin("blocking", context)));

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation) =>
        End(continuation(request, Begin("unary", context)));

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation) =>
        End(continuation(request, Begin("server-stream", context)));

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncClientStreamingCallContinuation<TRequest, TResponse> continuation) =>
        End(continuation(Begin("client-stream", context)));

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation) =>
        End(continuation(Begin("duplex", context)));

    private ClientInterceptorContext<TRequest, TResponse> Begin<TRequest, TResponse>(
        string shape, in ClientInterceptorContext<TRequest, TResponse> context)
        where TRequest : class
        where TResponse : class
    {
        Method<TRequest, TResponse> method = context.Method;
        Before(shape, method.Name);
        if (Method is not null)
        {
            method = new Method<TRequest, TResponse>(
                method.Type, method.ServiceName, Method, method.RequestMarshaller, method.ResponseMarshaller);
        }

        return new ClientInterceptorContext<TRequest, TResponse>(
            method, Host ?? context.Host, Change(context.Options));
    }

    private T End<T>(T call)
    {
        try
        {
            After();
            return call;
        }
        catch
        {
            (call as IDisposable)?.Dispose();
            throw;
        }
    }
}
