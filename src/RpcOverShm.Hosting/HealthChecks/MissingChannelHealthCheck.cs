using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>
/// Reports a check of a channel that is not there. An exception would fail the checks of all others too.
/// </summary>
internal sealed class MissingChannelHealthCheck(object channelKey) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default) =>
        Task.FromResult(new HealthCheckResult(
            context.Registration.FailureStatus,
            $"There is no channel with the key '{channelKey}'. The key is the client's name, or its type if it has "
            + "none: correct the one that AddShmChannel has, or add the client."));
}
