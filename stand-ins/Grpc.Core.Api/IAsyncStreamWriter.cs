namespace Grpc.Core;

public interface IAsyncStreamWriter<in T>
{
    WriteOptions? WriteOptions { get; set; }

    Task WriteAsync(T message);

    /// <summary>
    /// Writers from before this overload existed cannot cancel a write. For them a token that can never be cancelled is
    /// as good as none, and any other is refused rather than ignored.
    /// </summary>
    Task WriteAsync(T message, CancellationToken cancellationToken)
    {
        return cancellationToken.CanBeCanceled
            ? throw new NotSupportedException(
                "Cancellation of stream writes is not supported by this gRPC implementation.")
            : WriteAsync(message);
    }
}
