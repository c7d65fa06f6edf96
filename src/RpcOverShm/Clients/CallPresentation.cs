using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>Wraps calls in gRPC's call objects. The delegates are made once; each takes the call as state.</summary>
internal static class CallPresentation
{
    /// <summary>The callback of a user's token: cancels the call, which is the callback's state.</summary>
    public static readonly Action<object?, CancellationToken> Cancel = static (call, by) => Of(call!).Cancel(by);

    private static readonly Func<object, Task<Metadata>> s_headers = static call => Of(call).GetHeadersAsync();
    private static readonly Func<object, Status> s_status = static call => Of(call).Status;
    private static readonly Func<object, Metadata> s_trailers = static call => Of(call).Trailers;
    private static readonly Action<object> s_dispose = static call => Of(call).Dispose();

    public static AsyncUnaryCall<TResponse> Unary<TResponse>(IPresentedCall call, Task<TResponse> response) =>
        new(response, s_headers, s_status, s_trailers, s_dispose, call);

    public static AsyncServerStreamingCall<TResponse> ServerStream<TResponse>(
        IPresentedCall call, IAsyncStreamReader<TResponse> responses) =>
        new(responses, s_headers, s_status, s_trailers, s_dispose, call);

    public static AsyncClientStreamingCall<TRequest, TResponse> ClientStream<TRequest, TResponse>(
        IPresentedCall call, IClientStreamWriter<TRequest> requests, Task<TResponse> response) =>
        new(requests, response, s_headers, s_status, s_trailers, s_dispose, call);

    public static AsyncDuplexStreamingCall<TRequest, TResponse> Duplex<TRequest, TResponse>(
        IPresentedCall call, IClientStreamWriter<TRequest> requests, IAsyncStreamReader<TResponse> responses) =>
        new(requests, responses, s_headers, s_status, s_trailers, s_dispose, call);

    private static IPresentedCall Of(object call) => (IPresentedCall)call;
}

/// <summary>A call as its user sees it: one outgoing call, or a retried call with its attempts.</summary>
internal interface IPresentedCall
{
    /// <summary>The status; throws before the end.</summary>
    Status Status { get; }

    /// <summary>The trailers; throws before the end and if the call ended without any.</summary>
    Metadata Trailers { get; }

    /// <summary>Whether the user has disposed the call, before or after its end.</summary>
    bool IsDisposed { get; }

    Task<Metadata> GetHeadersAsync();

    /// <summary>Returns the exception of a call that is over.</summary>
    Exception ToException();

    /// <summary>Ends the call because a token of the user was cancelled.</summary>
    void Cancel(CancellationToken by);

    /// <summary>Cancels the call if it has not ended.</summary>
    void Dispose();
}
