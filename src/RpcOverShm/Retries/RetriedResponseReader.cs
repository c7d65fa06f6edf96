using Grpc.Core;

namespace RpcOverShm.Retries;

/// <summary>
/// The responses of a streaming call that may need more than one attempt: those of the one that counts.
/// </summary>
internal sealed class RetriedResponseReader<TResponse>(RetriedCall<TResponse> call) : IAsyncStreamReader<TResponse>
    where TResponse : class
{
    private Task<bool>? _firstRead;
    private IAsyncStreamReader<TResponse>? _responses;

    public TResponse Current => _responses?.Current!;

    public Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        ObjectDisposedException.ThrowIf(call.IsDisposed, call);
        // Asked first: the attempt may be done with a read whose caller has not looked at the message yet.
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
        using (cancellationToken.UnsafeRegister(
            static (call, by) => ((RetriedCall<TResponse>)call!).Cancel(by), call))
        {
            attempt = await call.WhenCommittedAsync().ConfigureAwait(false);
        }

        _responses = attempt.Responses!;
        try
        {
            return await _responses.MoveNext(cancellationToken).ConfigureAwait(false);
        }
        catch (ObjectDisposedException)
        {
            // This read was there before: it ends as the call has.
            throw attempt.Call.ToException();
        }
    }
}
