using Grpc.Core;

namespace RpcOverShm.Tests.Protobuf;

/// <summary>Starts calls in which everything that can fail does, with one exception.</summary>
internal sealed class FailingInvoker(Exception failure) : CallInvoker
{
    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) => throw failure;

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        new(Fail<TResponse>(), Fail<Metadata>(), Status, Trailers, Dispose);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        new(new Stream<TResponse>(failure), Fail<Metadata>(), Status, Trailers, Dispose);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        new(new Stream<TRequest>(failure), Fail<TResponse>(), Fail<Metadata>(), Status, Trailers, Dispose);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        new(new Stream<TRequest>(failure), new Stream<TResponse>(failure), Fail<Metadata>(), Status, Trailers, Dispose);

    private static Status Status() => new(StatusCode.DataLoss, "of the call");

    private static Metadata Trailers() => new() { { "of-the", "call" } };

    private static void Dispose()
    {
    }

    private Task<T> Fail<T>() => Task.FromException<T>(failure);

    private sealed class Stream<T>(Exception failure) : IAsyncStreamReader<T>, IClientStreamWriter<T>
    {
        public T Current => default!;

        public WriteOptions? WriteOptions { get; set; }

        public Task<bool> MoveNext(CancellationToken cancellationToken) => Task.FromException<bool>(failure);

        public Task WriteAsync(T message) => Task.FromException(failure);

        public Task WriteAsync(T message, CancellationToken cancellationToken) => Task.FromException(failure);

        public Task CompleteAsync() => Task.FromException(failure);
    }
}
