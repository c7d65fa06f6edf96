using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Servers;

/// <summary>
/// Starts a server with the host. It begins to drain with the first step of the host's stop, before any hosted service
/// stops, so that all servers drain at the same time and with what their methods need; the host then waits for it.
/// </summary>
internal sealed class HostedServer(
    ServerRegistration registration, IServiceProvider provider, IOptions<HostOptions> host)
    : IHostedLifecycleService
{
    // A kill takes milliseconds; it must be done when the host gives up.
    private static readonly TimeSpan s_longestReserve = TimeSpan.FromSeconds(1);

    private const int ShareOfReserve = 10;

    private ShmServer? _server;

    /// <summary>Returns the time that the running calls have, of the host's whole time to stop.</summary>
    public static TimeSpan DrainTime(TimeSpan shutdownTimeout)
    {
        if (shutdownTimeout == Timeout.InfiniteTimeSpan)
        {
            return shutdownTimeout;
        }

        TimeSpan reserve = shutdownTimeout / ShareOfReserve;
        return shutdownTimeout - (reserve < s_longestReserve ? reserve : s_longestReserve);
    }

    public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartAsync(CancellationToken cancellationToken)
    {
        _server = provider.GetRequiredKeyedService<ShmServer>(registration.Name);
        return _server.StartAsync(cancellationToken);
    }

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        _ = StopAsync(cancellationToken);
        return Task.CompletedTask;
    }

    // A host that does not know the steps of IHostedLifecycleService calls only this one. Otherwise it waits for the
    // stop in progress. The token is that of the host's time: when it fires, the server is killed in spite of the
    // grace.
    public Task StopAsync(CancellationToken cancellationToken) =>
        _server?.StopAsync(DrainTime(host.Value.ShutdownTimeout), cancellationToken) ?? Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
