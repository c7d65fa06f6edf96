using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// The request stream of a call as its user sees it: one write at a time, none after the completion, and a token that
/// cancels the call.
/// </summary>
internal abstract class RequestWriter<TRequest, TCall>(TCall call) : IClientStreamWriter<TRequest>
    where TRequest : class
    where TCall : class, IPresentedCall
{
    private int _isWriting;
    private bool _isCompleted;

    public WriteOptions? WriteOptions { get; set; }

    protected TCall Call => call;

    public Task WriteAsync(TRequest message) => WriteAsync(message, CancellationToken.None);

    public Task WriteAsync(TRequest message, CancellationToken cancellationToken)
    {
        if (message is null)
        {
            return Task.FromException(new ArgumentNullException(nameof(message)));
        }

        if (call.IsDisposed)
        {
            return Task.FromException(new ObjectDisposedException(call.GetType().FullName));
        }

        return cancellationToken.CanBeCanceled
            ? WriteCancellableAsync(message, cancellationToken)
            : WriteCore(message);
    }

    public Task CompleteAsync()
    {
        ObjectDisposedException.ThrowIf(call.IsDisposed, call);
        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            return Task.FromException(new InvalidOperationException(
                "Can't complete the client stream writer because the previous write is in progress."));
        }

        bool isFirst = !_isCompleted;
        _isCompleted = true;
        Task completing = isFirst ? HalfCloseAsync() : Task.CompletedTask;
        Volatile.Write(ref _isWriting, 0);
        return completing;
    }

    /// <summary>Starts a write. The task returns false if the message was dropped with its call.</summary>
    protected abstract Task<bool> StartWriteAsync(TRequest message);

    /// <summary>Half-closes the call. Called at most once.</summary>
    protected abstract Task HalfCloseAsync();

    private async Task WriteCancellableAsync(TRequest message, CancellationToken cancellationToken)
    {
        // Cancels at once if the token is cancelled.
        using CancellationTokenRegistration registration = cancellationToken.UnsafeRegister(
            CallPresentation.Cancel, call);
        await WriteCore(message).ConfigureAwait(false);
    }

    private Task WriteCore(TRequest message)
    {
        if (Interlocked.Exchange(ref _isWriting, 1) != 0)
        {
            return Task.FromException(new InvalidOperationException(
                "Can't write the message because the previous write is in progress."));
        }

        Task<bool> write = _isCompleted
            ? Task.FromException<bool>(new InvalidOperationException("Request stream has already been completed."))
            : StartWriteAsync(message);
        if (write.IsCompletedSuccessfully && write.Result)
        {
            Volatile.Write(ref _isWriting, 0);
            return write;
        }

        return FinishWriteAsync(write);
    }

    // The write of a sent message succeeds even if the call has ended meanwhile: the message itself may have ended it.
    // A refused write reports the server's status, even while earlier responses are unread. In that case Grpc.Core
    // reports success, and grpc-dotnet reports Cancelled for a call that was not cancelled.
    private async Task FinishWriteAsync(Task<bool> write)
    {
        try
        {
            if (!await write.ConfigureAwait(false))
            {
                throw call.ToException();
            }
        }
        finally
        {
            Volatile.Write(ref _isWriting, 0);
        }
    }
}
