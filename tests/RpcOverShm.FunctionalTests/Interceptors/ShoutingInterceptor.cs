using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Interceptors;

/// <summary>
/// Wraps the streams of duplex calls of payloads, on either side: encloses messages read in angle brackets and appends
/// an exclamation mark to messages written.
/// </summary>
internal sealed class ShoutingInterceptor : Interceptor
{
    public override Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation) =>
        continuation(new Reader<TRequest>(requestStream), new Writer<TResponse>(responseStream), context);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation)
    {
        AsyncDuplexStreamingCall<TRequest, TResponse> call = continuation(context);
        return new AsyncDuplexStreamingCall<TRequest, TResponse>(
            new Writer<TRequest>(call.RequestStream),
            new Reader<TResponse>(call.ResponseStream),
            call.ResponseHeadersAsync,
            call.GetStatus,
            call.GetTrailers,
            call.Dispose);
    }

    private static T Change<T>(T message, Func<string, string> change) =>
        (T)(object)Payloads.Of(change(((Payload)(object)message!).Text()));

    private sealed class Reader<T>(IAsyncStreamReader<T> inner) : IAsyncStreamReader<T>
    {
        public T Current => Change(inner.Current, static text => $"<{text}>");

        public Task<bool> MoveNext(CancellationToken cancellationToken) => inner.MoveNext(cancellationToken);
    }

    private sealed class Writer<T>(IAsyncStreamWriter<T> inner) : IServerStreamWriter<T>, IClientStreamWriter<T>
    {
        public WriteOptions? WriteOptions
        {
            get => inner.WriteOptions;
            set => inner.WriteOptions = value;
        }

        public Task WriteAsync(T message) => inner.WriteAsync(Change(message, static text => $"{text}!"));

        public Task WriteAsync(T message, CancellationToken cancellationToken) =>
            inner.WriteAsync(Change(message, static text => $"{text}!"), cancellationToken);

        public Task CompleteAsync() => ((IClientStreamWriter<T>)inner).CompleteAsync();
    }
}
