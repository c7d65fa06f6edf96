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
    private readonly Lock _gate = new();
    private readonly Dictionary<string, int> _watched = new(StringComparer.Ordinal);
    private readonly CancellationTokenSource _stopped = new();
    private bool _hasStopped;

    /// <summary>Creates a service without any status.</summary>
    /// <param name="stopping">
    /// The token that ends the watches: <see cref="ShmServer.Stopping"/>. A status that is set later has no effect on
    /// them.
    /// </param>
    public ShmHealthService(CancellationToken stopping) =>
        stopping.UnsafeRegister(static state => ((ShmHealthService)state!).Stop(), this);

    /// <inheritdoc/>
    public override async Task Watch(
        HealthCheckRequest request, IServerStreamWriter<HealthCheckResponse> responseStream, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(request);
        ArgumentNullException.ThrowIfNull(context);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(context.CancellationToken, _stopped.Token);
        Change(request.Service, 1);
        try
        {
            await base.Watch(request, responseStream, new WatchContext(context, ended.Token)).ConfigureAwait(false);
        }
        finally
        {
            // The base class forgets a watch when its token is cancelled, also one that failed.
            await ended.CancelAsync().ConfigureAwait(false);
            Change(request.Service, -1);
        }
    }

    /// <summary>Sets a status, unless the server stops: then all services are NotServing.</summary>
    private protected void TrySetStatus(string service, ServingStatus status)
    {
        lock (_gate)
        {
            if (!_hasStopped)
            {
                SetStatus(service, status);
            }
        }
    }

    /// <summary>Counts the watches of a service.</summary>
    private void Change(string service, int change)
    {
        lock (_gate)
        {
            _watched[service] = _watched.GetValueOrDefault(service) + change;
            if (_watched[service] == 0)
            {
                _watched.Remove(service);
            }

            if (_hasStopped && change > 0)
            {
                SetStatus(service, ServingStatus.NotServing);
            }
        }
    }

    // The base class queues a status for the watches, and empties the queue after the end.
    private void Stop()
    {
        lock (_gate)
        {
            _hasStopped = true;
            foreach (string service in _watched.Keys)
            {
                SetStatus(service, ServingStatus.NotServing);
            }
        }

        _stopped.Cancel();
    }
}
