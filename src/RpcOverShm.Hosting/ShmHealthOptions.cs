using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RpcOverShm.Hosting;

/// <summary>Which health checks of the host decide about which service.</summary>
/// <remarks>Read when the server is created. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmHealthOptions
{
    /// <summary>The mappings by the name of the service.</summary>
    internal Dictionary<string, Func<HealthCheckRegistration, bool>> Mappings { get; } = new(StringComparer.Ordinal);

    /// <summary>Maps a service to health checks, instead of all.</summary>
    /// <param name="service">
    /// The full name of the service, such as <c>samples.Greeter</c>; empty for the server. It need not be a service of
    /// the server. A second mapping of the same name replaces the first.
    /// </param>
    /// <param name="isCheckOfService">
    /// Chooses the checks, by name or tags. If it chooses none, the service is Unknown.
    /// </param>
    /// <returns>These options.</returns>
    /// <exception cref="ArgumentNullException">The name or the function is null.</exception>
    public ShmHealthOptions Map(string service, Func<HealthCheckRegistration, bool> isCheckOfService)
    {
        ArgumentNullException.ThrowIfNull(service);
        ArgumentNullException.ThrowIfNull(isCheckOfService);
        Mappings[service] = isCheckOfService;
        return this;
    }
}
