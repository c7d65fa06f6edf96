using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Logging;
using RpcOverShm;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.HealthChecks;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds health checks of servers that this process calls.</summary>
/// <remarks>Not thread-safe, like every <see cref="IHealthChecksBuilder"/>.</remarks>
public static class ShmHealthChecksBuilderExtensions
{
    // Shorter than the pause between two checks that the host schedules.
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(5);

    /// <summary>Adds a check that asks the health service of a server (<c>grpc.health.v1.Health</c>).</summary>
    /// <param name="builder">The health checks of the host.</param>
    /// <param name="address">The address of the server, as for <see cref="ShmChannel.ForAddress"/>.</param>
    /// <param name="service">The full name of the service; empty for the server as a whole.</param>
    /// <param name="name">The name of the check; null for the address, with the service behind it.</param>
    /// <param name="failureStatus">The status of a failure; null for Unhealthy.</param>
    /// <param name="tags">The tags of the check; null for none.</param>
    /// <param name="timeout">The time limit of one check, above zero; null for 5 seconds.</param>
    /// <returns>The health checks.</returns>
    /// <exception cref="ArgumentNullException">The builder, the address or the service are null.</exception>
    /// <exception cref="ArgumentException">The address is empty.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time limit is not above zero.</exception>
    /// <remarks>
    /// Serving is Healthy. Everything else is the failure status, with a description: another status, a server that is
    /// not there or does not answer in time, and one that offers no health service. The check has a channel of its own,
    /// which the container disposes.
    /// </remarks>
    public static IHealthChecksBuilder AddShmServer(
        this IHealthChecksBuilder builder,
        string address,
        string service = "",
        string? name = null,
        HealthStatus? failureStatus = null,
        IEnumerable<string>? tags = null,
        TimeSpan? timeout = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        AddressCheck.ThrowIfMissing(address);
        ArgumentNullException.ThrowIfNull(service);
        TimeSpan limit = Checked(timeout);
        object key = new();
        builder.Services.AddLogging();
        builder.Services.AddKeyedSingleton(key, (provider, _) => ShmChannel.ForAddress(
            address, new ShmChannelOptions { LoggerFactory = provider.GetRequiredService<ILoggerFactory>() }));
        return builder.Add(new HealthCheckRegistration(
            name ?? (service.Length == 0 ? address : $"{address} {service}"),
            provider => new ServerHealthCheck(
                provider.GetRequiredKeyedService<ShmChannel>(key),
                service,
                limit,
                provider.GetService<TimeProvider>() ?? TimeProvider.System),
            failureStatus,
            tags));
    }

    /// <summary>Adds a check that a channel of the container is connected, or can connect.</summary>
    /// <param name="builder">The health checks of the host.</param>
    /// <param name="channelKey">
    /// The key of the channel (<see cref="ShmClientServiceCollectionExtensions.AddKeyedShmChannel"/>); the name of a
    /// client, or its type if it has no name; or the key of a channel that the application has registered itself.
    /// </param>
    /// <param name="name">The name of the check; null for the text of the key.</param>
    /// <param name="failureStatus">The status of a failure; null for Unhealthy.</param>
    /// <param name="tags">The tags of the check; null for none.</param>
    /// <param name="timeout">The time to connect, above zero; null for 5 seconds.</param>
    /// <returns>The health checks.</returns>
    /// <exception cref="ArgumentNullException">The builder or the key are null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The time is not above zero.</exception>
    /// <remarks>
    /// Costs the server nothing while the channel is connected: it is not asked. The check connects an idle channel.
    /// </remarks>
    public static IHealthChecksBuilder AddShmChannel(
        this IHealthChecksBuilder builder,
        object channelKey,
        string? name = null,
        HealthStatus? failureStatus = null,
        IEnumerable<string>? tags = null,
        TimeSpan? timeout = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentNullException.ThrowIfNull(channelKey);
        TimeSpan limit = Checked(timeout);
        return builder.Add(new HealthCheckRegistration(
            name ?? channelKey.ToString() ?? nameof(ShmChannel),
            provider => provider.GetKeyedService<ShmChannel>(channelKey) is { } channel
                ? new ChannelHealthCheck(channel, limit)
                : new MissingChannelHealthCheck(channelKey),
            failureStatus,
            tags));
    }

    private static TimeSpan Checked(TimeSpan? timeout) => timeout is null || timeout > TimeSpan.Zero
        ? timeout ?? s_timeout
        : throw new ArgumentOutOfRangeException(nameof(timeout), timeout, "The time limit is above zero, or null.");
}
