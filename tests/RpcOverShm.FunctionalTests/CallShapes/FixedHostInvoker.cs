namespace RpcOverShm.FunctionalTests.CallShapes;

/// <summary>Passes a host argument, which generated clients never do.</summary>
internal sealed class FixedHostInvoker(CallInvoker inner, string? host) : CallInvoker
{
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? ignored, CallOptions options, TRequest request) =>
        inner.BlockingUnaryCall(method, host, options, request);

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? ignored, CallOptions options, TRequest request) =>
        inner.AsyncUnaryCall(method, host, options, request);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? ignored, CallOptions options, TRequest request) =>
        inner.AsyncServerStreamingCall(method, host, options, request);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? ignored, CallOptions options) =>
        inner.AsyncClientStreamingCall(method, host, options);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? ignored, CallOptions options) =>
        inner.AsyncDuplexStreamingCall(method, host, options);
}
