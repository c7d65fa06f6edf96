namespace RpcOverShm.FunctionalTests.Support;

/// <summary>A call of any shape, for tests of all shapes.</summary>
internal sealed class AnyCall : IDisposable
{
    private readonly Func<Task<Metadata>> _headers;
    private readonly Func<Status> _status;
    private readonly Func<Metadata> _trailers;
    private readonly Action _dispose;

    private AnyCall(Func<Task<Metadata>> headers, Func<Status> status, Func<Metadata> trailers, Action dispose)
    {
        _headers = headers;
        _status = status;
        _trailers = trailers;
        _dispose = dispose;
    }

    public static IEnumerable<MethodType> Shapes => Enum.GetValues<MethodType>();

    /// <summary>The task of the response, or of reading all responses, whose result is the last one.</summary>
    public required Task Outcome { get; init; }

    public Task<Metadata> Headers => _headers();

    public Status Status => _status();

    public Metadata Trailers => _trailers();

    /// <summary>Starts a call of a <see cref="Script"/> without writing to a stream of requests.</summary>
    public static AnyCall Start(CallInvoker invoker, MethodType shape, CallOptions options = default) =>
        Start(invoker, MethodOf(shape), Payloads.Empty, options).Call;

    /// <summary>Starts a call of any method; the request writer is null if there is a single request.</summary>
    public static (AnyCall Call, IClientStreamWriter<T>? Requests) Start<T>(
        CallInvoker invoker, Method<T, T> method, T request, CallOptions options = default)
        where T : class
    {
        switch (method.Type)
        {
            case MethodType.Unary:
                AsyncUnaryCall<T> unary = invoker.AsyncUnaryCall(method, null, options, request);
                return (
                    new AnyCall(() => unary.ResponseHeadersAsync, unary.GetStatus, unary.GetTrailers, unary.Dispose)
                    {
                        Outcome = unary.ResponseAsync,
                    },
                    null);
            case MethodType.ClientStreaming:
                AsyncClientStreamingCall<T, T> clientStream = invoker.AsyncClientStreamingCall(method, null, options);
                return (
                    new AnyCall(
                        () => clientStream.ResponseHeadersAsync,
                        clientStream.GetStatus,
                        clientStream.GetTrailers,
                        clientStream.Dispose)
                    {
                        Outcome = clientStream.ResponseAsync,
                    },
                    clientStream.RequestStream);
            case MethodType.ServerStreaming:
                AsyncServerStreamingCall<T> serverStream = invoker.AsyncServerStreamingCall(
                    method, null, options, request);
                return (
                    new AnyCall(
                        () => serverStream.ResponseHeadersAsync,
                        serverStream.GetStatus,
                        serverStream.GetTrailers,
                        serverStream.Dispose)
                    {
                        Outcome = ReadToEndAsync(serverStream.ResponseStream),
                    },
                    null);
            default:
                AsyncDuplexStreamingCall<T, T> duplex = invoker.AsyncDuplexStreamingCall(method, null, options);
                return (
                    new AnyCall(() => duplex.ResponseHeadersAsync, duplex.GetStatus, duplex.GetTrailers, duplex.Dispose)
                    {
                        Outcome = ReadToEndAsync(duplex.ResponseStream),
                    },
                    duplex.RequestStream);
        }
    }

    /// <summary>Returns the method of a <see cref="Script"/> with this shape.</summary>
    public static Method<Payload, Payload> MethodOf(MethodType shape) => shape switch
    {
        MethodType.Unary => Script.UnaryMethod,
        MethodType.ClientStreaming => Script.ClientStreamMethod,
        MethodType.ServerStreaming => Script.ServerStreamMethod,
        _ => Script.DuplexMethod,
    };

    public void Dispose() => _dispose();

    // Has no timeout: the test bounds its wait for the outcome.
    private static async Task<T?> ReadToEndAsync<T>(IAsyncStreamReader<T> responses)
        where T : class
    {
        T? last = null;
        while (await responses.MoveNext(CancellationToken.None))
        {
            last = responses.Current;
        }

        return last;
    }
}
