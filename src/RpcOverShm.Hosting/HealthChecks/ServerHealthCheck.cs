using Grpc.Core;
using Grpc.Health.V1;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>Asks the health service of a server.</summary>
internal sealed class ServerHealthCheck(ShmChannel channel, string service, TimeSpan timeout, TimeProvider clock)
    : IHealthCheck
{
    private string What => service.Length == 0 ? $"The server at {channel.Target}" : $"{service} at {channel.Target}";

    public async Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        try
        {
            HealthCheckResponse response = await new Health.HealthClient(channel).CheckAsync(
                new HealthCheckRequest { Service = service },
                deadline: (clock.GetUtcNow() + timeout).UtcDateTime,
                cancellationToken: cancellationToken).ConfigureAwait(false);
            return response.Status == ServingStatus.Serving
                ? HealthCheckResult.Healthy()
                : new HealthCheckResult(context.Registration.FailureStatus, $"{What} is {response.Status}.");
        }
        catch (RpcException exception) when (!cancellationToken.IsCancellationRequested)
        {
            return new HealthCheckResult(context.Registration.FailureStatus, Describe(exception), exception);
        }
    }

    private string Describe(RpcException exception) => exception.StatusCode switch
    {
        StatusCode.Unimplemented => $"{What} offers no health service; a hosted one gets it with AddHealth().",
        StatusCode.NotFound => $"{What}: the health service does not know this service.",
        StatusCode.DeadlineExceeded => $"{What} did not answer within {timeout.TotalSeconds} s.",
        _ => $"{What} failed with {exception.StatusCode}: {exception.Status.Detail}",
    };
}
