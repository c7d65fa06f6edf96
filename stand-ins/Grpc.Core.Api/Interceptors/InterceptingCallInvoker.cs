using System.Diagnostics;
using Grpc.Core.Utils;

namespace Grpc.Core.Interceptors;

/// <summary>Sends every call through one interceptor, whose continuation is the invoker underneath.</summary>
[DebuggerDisplay("{_invoker}")]
internal sealed class InterceptingCallInvoker : CallInvoker
{
    private readonly CallInvoker _invoker;
    private readonly Interceptor _interceptor;

    internal InterceptingCallInvoker(CallInvoker invoker, Interceptor interceptor)
    {
        _invoker = GrpcPreconditions.CheckNotNull(invoker, nameof(invoker));
        _interceptor = GrpcPreconditions.CheckNotNull(interceptor, nameof(interceptor));
    }

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        _interceptor.BlockingUnaryCall(
            request,
            new ClientInterceptorContext<TRequest, TResponse>(method, host, options),
            (message, next) => _invoker.BlockingUnaryCall(next.Method, next.Host, next.Options, message));

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        _interceptor.AsyncUnaryCall(
            request,
            new ClientInterceptorContext<TRequest, TResponse>(method, host, options),
            (message, next) => _invoker.AsyncUnaryCall(next.Method, next.Host, next.Options, message));

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        _interceptor.AsyncServerStreamingCall(
            request,
            new ClientInterceptorContext<TRequest, TResponse>(method, host, options),
            (message, next) => _invoker.AsyncServerStreamingCall(next.Method, next.Host, next.Options, message));

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        _interceptor.AsyncClientStreamingCall(
            new ClientInterceptorContext<TRequest, TResponse>(method, host, options),
            next => _invoker.AsyncClientStreamingCall(next.Method, next.Host, next.Options));

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        _interceptor.AsyncDuplexStreamingCall(
            new ClientInterceptorContext<TRequest, TResponse>(method, host, options),
            next => _invoker.AsyncDuplexStreamingCall(next.Method, next.Host, next.Options));
}
