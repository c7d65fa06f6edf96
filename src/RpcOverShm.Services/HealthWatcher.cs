using System.Threading.Channels;
using Grpc.Core;
using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Services;

/// <summary>
/// One call of Watch: the statuses that its client has yet to see. Any thread notes, in the order of the changes; the
/// method of the call sends. A client that does not read makes it keep the latest few and no more.
/// </summary>
internal sealed class HealthWatcher
{
    /// <summary>How many statuses wait for a client; with one more the oldest is forgotten.</summary>
    public const int MostWaiting = 5;

    private readonly Channel<ServingStatus> _changes = Channel.CreateBounded<ServingStatus>(
        new BoundedChannelOptions(MostWaiting) { FullMode = BoundedChannelFullMode.DropOldest, SingleReader = true });

    /// <summary>How many statuses wait to be sent.</summary>
    public int WaitingCount => _changes.Reader.Count;

    public void Note(ServingStatus status) => _changes.Writer.TryWrite(status);

    /// <summary>Sends what is noted, until the call is over.</summary>
    public async Task SendAsync(IServerStreamWriter<HealthCheckResponse> responses, CancellationToken callToken)
    {
        ServingStatus? sent = null;
        try
        {
            await foreach (ServingStatus status in _changes.Reader.ReadAllAsync(callToken).ConfigureAwait(false))
            {
                // Where statuses in between were forgotten, a service may be again what its client knows it as.
                if (status != sent)
                {
                    // A write fails by itself when the call ends, and not every server's takes a token.
                    await responses
                        .WriteAsync(new HealthCheckResponse { Status = status }, CancellationToken.None)
                        .ConfigureAwait(false);
                    sent = status;
                }
            }
        }
        catch (Exception exception) when (callToken.IsCancellationRequested || EndedCall.IsCauseOf(exception))
        {
            // The client has gone, which is how a watch ends.
        }
    }
}
