using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>Reads the responses of an observed call.</summary>
internal sealed class ObservedResponseReader<TResponse>(IAsyncStreamReader<TResponse> inner, ObservedCall call)
    : IAsyncStreamReader<TResponse>
{
    public TResponse Current => inner.Current;

    public Task<bool> MoveNext(CancellationToken cancellationToken)
    {
        Task<bool> read = inner.MoveNext(cancellationToken);
        return read.IsCompletedSuccessfully && read.Result ? read : ReadAsync(read);
    }

    private async Task<bool> ReadAsync(Task<bool> read)
    {
        bool isMore = false;
        try
        {
            isMore = await read.ConfigureAwait(false);
            return isMore;
        }
        finally
        {
            if (!isMore)
            {
                call.EndIfOver();
            }
        }
    }
}
