using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>Reads the response stream of a retried call: the responses of the committed attempt.</summary>
internal sealed class RetriedResponseReader<TResponse>(RetriedCall<TResponse> call) : IAsyncStreamReader<TResponse>
    where TResponse : class
{
    private Task<bool>? _firstRead;
    private IAsyncStreamReader<TResponse>? _responses;

    public TResponse Current => _responses?.Current!;

    public Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        ObjectDisposedException.ThrowIf(call.IsDisposed, call);
        // Checked before _responses: the attempt's read may complete shortly before the task of the first read does.
        if (_firstRead is { IsCompleted: false })
        {
            return Task.FromException<bool>(new InvalidOperationException(
                "Can't read the next message because the previous read is still in progress."));
        }

        return _responses?.MoveNext(cancellationToken) ?? (_firstRead = MoveFirstAsync(cancellationToken));
    }

    private async Task<bool> MoveFirstAsync(CancellationToken cancellationToken)
    {
        Attempt<TResponse> attempt;
        using (cancellationToken.UnsafeRegister(CallPresentation.Cancel, call))
        {
            attempt = await call.WhenObservedAsync().ConfigureAwait(false);
        }

        _responses = attempt.Responses!;
        try
        {
            return await _responses.MoveNext(cancellationToken).ConfigureAwait(false);
        }
        catch (ObjectDisposedException)
        {
            // The read began before the call was disposed, so it fails with the call's outcome.
            throw call.ToException();
        }
    }
}
