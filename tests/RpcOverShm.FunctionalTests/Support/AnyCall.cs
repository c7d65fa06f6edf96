namespace RpcOverShm.FunctionalTests.Support;

/// <summary>A call of any shape, for tests of all shapes.</summary>
internal sealed class AnyCall : IDisposable
{
    private readonly Func<Task<Metadata>> _headers;
    private readonly Func<Status> _status;
    private readonly Func<Metadata> _trailers;
    private readonly Action _dispose;
    private int _streamed;

    private AnyCall(
        Func<AnyCall, Task> outcome,
        Func<Task<Metadata>> headers,
        Func<Status> status,
        Func<Metadata> trailers,
        Action dispose)
    {
        Outcome = outcome(this);
        _headers = headers;
        _status = status;
        _trailers = trailers;
        _dispose = dispose;
    }

    public static IEnumerable<MethodType> Shapes => Enum.GetValues<MethodType>();

    /// <summary>The task of the response, or of reading all responses, whose result is the last one.</summary>
    public Task Outcome { get; }

    public Task<Metadata> Headers => _headers();

    public Status Status => _status();

    public Metadata Trailers => _trailers();

    /// <summary>Starts a call of a <see cref="Script"/> without writing to a stream of requests.</summary>
    public static AnyCall Start(CallInvoker invoker, MethodType shape, CallOptions options = default) =>
        Start(invoker, MethodOf(shape), Payloads.Empty, options).Call;

    /// <summary>Starts a call of any method; the request writer is null if there is a single request.</summary>
    public static (AnyCall Call, IClientStreamWriter<TRequest>? Requests) Start<TRequest, TResponse>(
        CallInvoker invoker, Method<TRequest, TResponse> method, TRequest request, CallOptions options = default)
        where TRequest : class
        where TResponse : class
    {
        switch (method.Type)
        {
            case MethodType.Unary:
                AsyncUnaryCall<TResponse> unary = invoker.AsyncUnaryCall(method, null, options, request);
                return (
                    new AnyCall(
                        _ => unary.ResponseAsync,
                        () => unary.ResponseHeadersAsync,
                        unary.GetStatus,
                        unary.GetTrailers,
                        unary.Dispose),
                    null);
            case MethodType.ClientStreaming:
                AsyncClientStreamingCall<TRequest, TResponse> clientStream = invoker.AsyncClientStreamingCall(
                    method, null, options);
                return (
                    new AnyCall(
                        _ => clientStream.ResponseAsync,
                        () => clientStream.ResponseHeadersAsync,
                        clientStream.GetStatus,
                        clientStream.GetTrailers,
                        clientStream.Dispose),
                    clientStream.RequestStream);
            case MethodType.ServerStreaming:
                AsyncServerStreamingCall<TResponse> serverStream = invoker.AsyncServerStreamingCall(
                    method, null, options, request);
                return (
                    new AnyCall(
                        call => call.ReadToEndAsync(serverStream.ResponseStream),
                        () => serverStream.ResponseHeadersAsync,
                        serverStream.GetStatus,
                        serverStream.GetTrailers,
                        serverStream.Dispose),
                    null);
            default:
                AsyncDuplexStreamingCall<TRequest, TResponse> duplex = invoker.AsyncDuplexStreamingCall(
                    method, null, options);
                return (
                    new AnyCall(
                        call => call.ReadToEndAsync(duplex.ResponseStream),
                        () => duplex.ResponseHeadersAsync,
                        duplex.GetStatus,
                        duplex.GetTrailers,
                        duplex.Dispose),
                    duplex.RequestStream);
        }
    }

    /// <summary>Makes a call with one request; returns its only response, null if a stream has none.</summary>
    public static async Task<TResponse?> CallAsync<TRequest, TResponse>(
        CallInvoker invoker, Method<TRequest, TResponse> method, TRequest request, CallOptions options = default)
        where TRequest : class
        where TResponse : class
    {
        (AnyCall call, IClientStreamWriter<TRequest>? requests) = Start(invoker, method, request, options);
        using (call)
        {
            if (requests is not null)
            {
                await requests.WriteAsync(request);
                await requests.CompleteAsync();
            }

            var response = await (Task<TResponse?>)call.Outcome;
            Assert.That(call._streamed, Is.LessThanOrEqualTo(1));
            return response;
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
    private async Task<T?> ReadToEndAsync<T>(IAsyncStreamReader<T> responses)
        where T : class
    {
        T? last = null;
        while (await responses.MoveNext(CancellationToken.None))
        {
            last = responses.Current;
            _streamed++;
        }

        return last;
    }
}
