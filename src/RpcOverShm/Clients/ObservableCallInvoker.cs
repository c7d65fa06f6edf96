using Grpc.Core;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <summary>
/// The outermost invoker of a channel with retries, or of a batch. While somebody listens, calls are observed from here
/// to their end, with all their attempts; else they only pass. A listener that comes later misses the calls that have
/// begun.
/// </summary>
internal sealed class ObservableCallInvoker(CallInvoker inner, string address) : CallInvoker
{
    private readonly ObservedCallInvoker _observed = new(inner, address);

    private CallInvoker Next => Telemetry.IsClientWatched ? _observed : inner;

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Next.BlockingUnaryCall(method, host, options, request);

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Next.AsyncUnaryCall(method, host, options, request);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Next.AsyncServerStreamingCall(method, host, options, request);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        Next.AsyncClientStreamingCall(method, host, options);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        Next.AsyncDuplexStreamingCall(method, host, options);
}
