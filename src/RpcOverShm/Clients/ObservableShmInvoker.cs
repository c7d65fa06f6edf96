using Grpc.Core;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <summary>
/// The invoker of a channel without retries, or of a session. While somebody listens, calls are observed from here to
/// their end. It does what <see cref="ObservableCallInvoker"/> does for others, but derives from the invoker that makes
/// the calls: to call a generic virtual method costs more than the check.
/// </summary>
internal sealed class ObservableShmInvoker(ConnectionProvider connections, ClientSettings settings)
    : ShmCallInvoker(connections, settings)
{
    private readonly ConnectionProvider _connections = connections;
    private readonly ClientSettings _settings = settings;
    private ObservedCallInvoker? _observed; // made for the first listener; two threads may make one each

    private ObservedCallInvoker Observed =>
        _observed ??= new ObservedCallInvoker(new ShmCallInvoker(_connections, _settings), _settings.Authority);

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Telemetry.IsClientWatched
            ? Observed.BlockingUnaryCall(method, host, options, request)
            : base.BlockingUnaryCall(method, host, options, request);

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Telemetry.IsClientWatched
            ? Observed.AsyncUnaryCall(method, host, options, request)
            : base.AsyncUnaryCall(method, host, options, request);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Telemetry.IsClientWatched
            ? Observed.AsyncServerStreamingCall(method, host, options, request)
            : base.AsyncServerStreamingCall(method, host, options, request);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        Telemetry.IsClientWatched
            ? Observed.AsyncClientStreamingCall(method, host, options)
            : base.AsyncClientStreamingCall(method, host, options);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        Telemetry.IsClientWatched
            ? Observed.AsyncDuplexStreamingCall(method, host, options)
            : base.AsyncDuplexStreamingCall(method, host, options);
}
