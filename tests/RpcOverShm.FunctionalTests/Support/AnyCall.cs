namespace RpcOverShm.FunctionalTests.Support;

/// <summary>What calls of all shapes have in common, so that a test can go through all of them.</summary>
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

    /// <summary>
    /// The response, or the reading of the responses to their end: a task of the response, or of the last of them.
    /// </summary>
    public required Task Outcome { get; init; }

    public Task<Metadata> Headers => _headers();

    public Status Status => _status();

    public Metadata Trailers => _trailers();

    /// <summary>Starts a call of a <see cref="Script"/>; nothing is written to a stream of requests.</summary>
    public static AnyCall Start(CallInvoker invoker, MethodType shape, CallOptions options = default) =>
        Start(invoker, MethodOf(shape), Payloads.Empty, options).Call;

    /// <summary>Starts a call of any method; what writes its requests is null where there is one only.</summary>
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

    /// <summary>The method of a <see cref="Script"/> that has this shape.</summary>
    public static Method<Payload, Payload> MethodOf(MethodType shape) => shape switch
    {
        MethodType.Unary => Script.UnaryMethod,
        MethodType.ClientStreaming => Script.ClientStreamMethod,
        MethodType.ServerStreaming => Script.ServerStreamMethod,
        _ => Script.DuplexMethod,
    };

    public void Dispose() => _dispose();

    // Unbounded: the test bounds its wait for the outcome.
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
