using System.Collections.Concurrent;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>Passes the reports that the host schedules to the health services of its servers. Thread-safe.</summary>
internal sealed class HealthPublisher : IHealthCheckPublisher
{
    private readonly ConcurrentQueue<HostHealthService> _services = new();

    public void Add(HostHealthService service) => _services.Enqueue(service);

    public Task PublishAsync(HealthReport report, CancellationToken cancellationToken)
    {
        foreach (HostHealthService service in _services)
        {
            service.Publish(report);
        }

        return Task.CompletedTask;
    }
}
