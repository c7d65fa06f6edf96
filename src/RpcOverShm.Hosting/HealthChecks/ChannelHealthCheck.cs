using Grpc.Core;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>Checks that a channel is connected, or connects it.</summary>
internal sealed class ChannelHealthCheck(ShmChannel channel, TimeSpan timeout) : IHealthCheck
{
    public async Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        try
        {
            await channel.ConnectAsync(limit.Token).ConfigureAwait(false);
            return HealthCheckResult.Healthy();
        }
        catch (OperationCanceledException exception) when (!cancellationToken.IsCancellationRequested)
        {
            return Failed(
                $"it did not connect within {timeout.TotalSeconds} s and is {channel.State}. {exception.Message}",
                exception.InnerException);
        }
        catch (RpcException exception)
        {
            return Failed(exception.Status.Detail, exception);
        }
        catch (ObjectDisposedException exception)
        {
            return Failed($"it is {ConnectivityState.Shutdown}.", exception);
        }

        HealthCheckResult Failed(string why, Exception? exception) =>
            new(context.Registration.FailureStatus, $"The channel to {channel.Target}: {why}", exception);
    }
}
