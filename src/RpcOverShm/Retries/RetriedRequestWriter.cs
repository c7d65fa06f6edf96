using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Retries;

/// <summary>
/// Writes the request stream of a retried call, one write at a time. A write completes when an attempt has taken the
/// message.
/// </summary>
/// <param name="call">The call.</param>
/// <param name="marshaller">The marshaller of the requests.</param>
/// <param name="limitBytes">The maximum size of a request in bytes; null for no limit.</param>
internal sealed class RetriedRequestWriter<TRequest, TResponse>(
    RetriedCall<TResponse> call, Marshaller<TRequest> marshaller, int? limitBytes)
    : IClientStreamWriter<TRequest>
    where TRequest : class
    where TResponse : class
{
    private int _isWriting;
    private bool _isCompleted;

    public WriteOptions? WriteOptions { get; set; }

    public Task WriteAsync(TRequest message) => WriteAsync(message, CancellationToken.None);

    public Task WriteAsync(TRequest message, CancellationToken cancellationToken)
    {
        if (message is null)
        {
            return Task.FromException(new ArgumentNullException(nameof(message)));
        }

        if (call.IsDisposed)
        {
            return Task.FromException(new ObjectDisposedException(nameof(RetriedCall<>)));
        }

        return Interlocked.Exchange(ref _isWriting, 1) == 0
            ? WriteAloneAsync(message, cancellationToken)
            : Task.FromException(new InvalidOperationException(
                "Can't write the message because the previous write is in progress."));
    }

    public Task CompleteAsync()
    {
        ObjectDisposedException.ThrowIf(call.IsDisposed, call);
        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            return Task.FromException(new InvalidOperationException(
                "Can't complete the client stream writer because the previous write is in progress."));
        }

        if (!_isCompleted)
        {
            _isCompleted = true;
            call.CompleteRequests();
        }

        Volatile.Write(ref _isWriting, 0);
        return Task.CompletedTask;
    }

    private async Task WriteAloneAsync(TRequest message, CancellationToken cancellationToken)
    {
        try
        {
            if (_isCompleted)
            {
                throw new InvalidOperationException("Request stream has already been completed.");
            }

            await WriteCancellableAsync(message, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }

    private async Task WriteCancellableAsync(TRequest message, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            call.Cancel(cancellationToken);
        }

        SerializedMessage bytes;
        try
        {
            bytes = SerializedMessage.Of(marshaller, message, limitBytes);
        }
        catch (Exception exception)
        {
            throw call.Fail(StatusMapping.FromRequestFailure(exception));
        }

        using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            static (call, by) => ((RetriedCall<TResponse>)call!).Cancel(by), call);
        await call.WriteAsync(bytes, WriteOptions).ConfigureAwait(false);
    }
}
