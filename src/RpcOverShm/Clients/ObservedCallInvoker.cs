using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>Makes calls whose spans and durations somebody wants; see <see cref="CallObservation"/>.</summary>
internal sealed class ObservedCallInvoker(CallInvoker inner, string address) : CallInvoker
{
    // The thread blocks in the inner invoker, where it reads for itself and runs callbacks.
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) => Begin(
            method,
            options,
            observation =>
            {
                TResponse response = inner.BlockingUnaryCall(method, host, observation.Options, request);
                observation.End(StatusCode.OK);
                return response;
            });

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) => Begin(
            method,
            options,
            observation =>
            {
                AsyncUnaryCall<TResponse> call = inner.AsyncUnaryCall(method, host, observation.Options, request);
                return new ObservedCall(
                    observation, () => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose)
                    .Unary(call.ResponseAsync);
            });

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) => Begin(
            method,
            options,
            observation =>
            {
                AsyncServerStreamingCall<TResponse> call =
                    inner.AsyncServerStreamingCall(method, host, observation.Options, request);
                return new ObservedCall(
                    observation, () => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose)
                    .ServerStream(call.ResponseStream);
            });

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) => Begin(
            method,
            options,
            observation =>
            {
                AsyncClientStreamingCall<TRequest, TResponse> call =
                    inner.AsyncClientStreamingCall(method, host, observation.Options);
                return new ObservedCall(
                    observation, () => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose)
                    .ClientStream(call.RequestStream, call.ResponseAsync);
            });

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) => Begin(
            method,
            options,
            observation =>
            {
                AsyncDuplexStreamingCall<TRequest, TResponse> call =
                    inner.AsyncDuplexStreamingCall(method, host, observation.Options);
                return new ObservedCall(
                    observation, () => call.ResponseHeadersAsync, call.GetStatus, call.GetTrailers, call.Dispose)
                    .Duplex(call.RequestStream, call.ResponseStream);
            });

    /// <summary>Begins a call with its span as the current one, and ends the observation if that throws.</summary>
    private TCall Begin<TCall>(IMethod method, in CallOptions options, Func<CallObservation, TCall> begin)
    {
        var observation = CallObservation.OfClient(method.FullName, address, options);
        try
        {
            return begin(observation);
        }
        catch (Exception exception)
        {
            observation.End(exception);
            throw;
        }
        finally
        {
            observation.Leave();
        }
    }
}
