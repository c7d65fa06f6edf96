using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Samples;

/// <summary>Client interceptor that adds the caller's name to each call's metadata and records the method.</summary>
internal sealed class CallerInterceptor(string caller) : Interceptor
{
    public const string CallerKey = "caller";

    private readonly List<string> _methods = [];

    /// <summary>The names of the called methods, in order.</summary>
    public IReadOnlyList<string> Methods => _methods;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation) => continuation(request, WithCaller(context));

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation) => continuation(request, WithCaller(context));

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation) =>
        continuation(request, WithCaller(context));

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncClientStreamingCallContinuation<TRequest, TResponse> continuation) => continuation(WithCaller(context));

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation) => continuation(WithCaller(context));

    // Copies the metadata, because the original belongs to the caller.
    private ClientInterceptorContext<TRequest, TResponse> WithCaller<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context)
        where TRequest : class
        where TResponse : class
    {
        _methods.Add(context.Method.Name);
        var headers = new Metadata();
        foreach (Metadata.Entry entry in context.Options.Headers ?? [])
        {
            headers.Add(entry);
        }

        headers.Add(CallerKey, caller);
        return new ClientInterceptorContext<TRequest, TResponse>(
            context.Method, context.Host, context.Options.WithHeaders(headers));
    }
}
