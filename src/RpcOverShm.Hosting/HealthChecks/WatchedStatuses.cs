using Grpc.Core;
using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>Writes the statuses of a watch, and remembers the last one.</summary>
internal sealed class WatchedStatuses(IServerStreamWriter<HealthCheckResponse> stream)
    : IServerStreamWriter<HealthCheckResponse>
{
    /// <summary>The status that was written last; null for none.</summary>
    public ServingStatus? Last { get; private set; }

    public WriteOptions? WriteOptions
    {
        get => stream.WriteOptions;
        set => stream.WriteOptions = value;
    }

    public async Task WriteAsync(HealthCheckResponse message)
    {
        await stream.WriteAsync(message).ConfigureAwait(false);
        Last = message.Status;
    }

    public async Task WriteAsync(HealthCheckResponse message, CancellationToken cancellationToken)
    {
        await stream.WriteAsync(message, cancellationToken).ConfigureAwait(false);
        Last = message.Status;
    }
}
