using Grpc.Core;
using Grpc.Health.V1;
using Grpc.HealthCheck;
using RpcOverShm.Hosting.HealthChecks;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Hosting;

/// <summary>The health service of Grpc.HealthCheck, whose watches end when a server begins to stop.</summary>
/// <remarks>
/// <para>
/// A watch of the base class ends only with its call, and so would use up the grace period of a stop. These watches get
/// the status NotServing, and end with <see cref="StatusCode.OK"/>. Clients are to watch again, with a back-off.
/// </para>
/// <para>
/// For a server without a host: <c>new ShmHealthService(server.Stopping)</c>. A host has
/// <see cref="ShmServerBuilder.AddHealth"/>. Thread-safe. Nothing to dispose.
/// </para>
/// </remarks>
public class ShmHealthService : HealthServiceImpl
{
    private readonly CancellationToken _stopping;

    /// <summary>Creates a service without any status.</summary>
    /// <param name="stopping">The token that ends the watches: <see cref="ShmServer.Stopping"/>.</param>
    public ShmHealthService(CancellationToken stopping) => _stopping = stopping;

    /// <inheritdoc/>
    public override async Task Watch(
        HealthCheckRequest request, IServerStreamWriter<HealthCheckResponse> responseStream, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(responseStream);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(context.CancellationToken, _stopping);
        var statuses = new WatchedStatuses(responseStream);
        try
        {
            await base.Watch(request, statuses, new WatchContext(context, ended.Token)).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (IsStopped(context))
        {
            // The watch ended while a status was being written.
        }
        finally
        {
            // The base class forgets a watch when its token is cancelled, also one that failed.
            await ended.CancelAsync().ConfigureAwait(false);
        }

        if (IsStopped(context) && statuses.Last != ServingStatus.NotServing)
        {
            await responseStream.WriteAsync(new HealthCheckResponse { Status = ServingStatus.NotServing })
                .ConfigureAwait(false);
        }
    }

    private bool IsStopped(ServerCallContext context) =>
        _stopping.IsCancellationRequested && !context.CancellationToken.IsCancellationRequested;
}
