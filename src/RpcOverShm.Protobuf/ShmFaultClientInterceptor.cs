using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Protobuf.Faults;

namespace RpcOverShm.Protobuf;

/// <summary>
/// Throws the typed exception of a failed call that has a detail of a mapped type, in place of its
/// <see cref="RpcException"/>.
/// </summary>
/// <remarks>
/// <para>
/// Applies to everything that reports the end of a call: a blocking call, the response, the response headers, and each
/// read and write of a stream. The status and trailers of the call are unchanged. A failure without such a detail, or
/// with a malformed one, is the <see cref="RpcException"/> itself.
/// </para>
/// <para>
/// Works with the channels and sessions of this library (<c>channel.Intercept(interceptor)</c>), and with any other
/// gRPC channel. Thread-safe. Nothing to dispose.
/// </para>
/// </remarks>
public sealed class ShmFaultClientInterceptor : Interceptor
{
    private readonly ShmFaults _faults;

    /// <summary>Creates the interceptor.</summary>
    /// <param name="faults">The mapped types of details.</param>
    /// <exception cref="ArgumentNullException">The map is null.</exception>
    public ShmFaultClientInterceptor(ShmFaults faults)
    {
        ArgumentNullException.ThrowIfNull(faults);
        _faults = faults;
    }

    /// <inheritdoc/>
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation)
    {
        try
        {
            return continuation(request, context);
        }
        catch (RpcException failure) when (_faults.ToException(failure) is { } typed)
        {
            throw typed;
        }
    }

    /// <inheritdoc/>
    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation)
    {
        AsyncUnaryCall<TResponse> call = continuation(request, context);
        return new AsyncUnaryCall<TResponse>(
            FaultTasks.Observed(FaultTasks.Convert(call.ResponseAsync, _faults)),
            Headers(() => call.ResponseHeadersAsync),
            _ => call.GetStatus(),
            _ => call.GetTrailers(),
            _ => call.Dispose(),
            call);
    }

    /// <inheritdoc/>
    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation)
    {
        AsyncServerStreamingCall<TResponse> call = continuation(request, context);
        return new AsyncServerStreamingCall<TResponse>(
            new FaultReader<TResponse>(call.ResponseStream, _faults),
            Headers(() => call.ResponseHeadersAsync),
            _ => call.GetStatus(),
            _ => call.GetTrailers(),
            _ => call.Dispose(),
            call);
    }

    /// <inheritdoc/>
    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncClientStreamingCallContinuation<TRequest, TResponse> continuation)
    {
        AsyncClientStreamingCall<TRequest, TResponse> call = continuation(context);
        return new AsyncClientStreamingCall<TRequest, TResponse>(
            new FaultWriter<TRequest>(call.RequestStream, _faults),
            FaultTasks.Observed(FaultTasks.Convert(call.ResponseAsync, _faults)),
            Headers(() => call.ResponseHeadersAsync),
            _ => call.GetStatus(),
            _ => call.GetTrailers(),
            _ => call.Dispose(),
            call);
    }

    /// <inheritdoc/>
    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation)
    {
        AsyncDuplexStreamingCall<TRequest, TResponse> call = continuation(context);
        return new AsyncDuplexStreamingCall<TRequest, TResponse>(
            new FaultWriter<TRequest>(call.RequestStream, _faults),
            new FaultReader<TResponse>(call.ResponseStream, _faults),
            Headers(() => call.ResponseHeadersAsync),
            _ => call.GetStatus(),
            _ => call.GetTrailers(),
            _ => call.Dispose(),
            call);
    }

    private Func<object, Task<Metadata>> Headers(Func<Task<Metadata>> headers) =>
        _ => FaultTasks.Observed(FaultTasks.Convert(headers(), _faults));
}
