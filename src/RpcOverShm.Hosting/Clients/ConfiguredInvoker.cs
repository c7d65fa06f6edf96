using Grpc.Core;

namespace RpcOverShm.Hosting.Clients;

/// <summary>Changes the options of each call. Thread-safe.</summary>
internal sealed class ConfiguredInvoker(
    CallInvoker inner,
    IReadOnlyList<Func<CallOptions, IServiceProvider, CallOptions>> changes,
    IServiceProvider provider) : CallInvoker
{
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        inner.BlockingUnaryCall(method, host, Changed(options), request);

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        inner.AsyncUnaryCall(method, host, Changed(options), request);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        inner.AsyncServerStreamingCall(method, host, Changed(options), request);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        inner.AsyncClientStreamingCall(method, host, Changed(options));

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        inner.AsyncDuplexStreamingCall(method, host, Changed(options));

    private CallOptions Changed(CallOptions options)
    {
        foreach (Func<CallOptions, IServiceProvider, CallOptions> change in changes)
        {
            options = change(options, provider);
        }

        return options;
    }
}
