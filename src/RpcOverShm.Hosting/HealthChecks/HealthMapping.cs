using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>The health checks on which a service depends.</summary>
/// <param name="Service">The name of the service; empty for the server.</param>
/// <param name="Checks">The names of the checks.</param>
/// <param name="IsChosen">Whether the application chose the checks: by default all of them count.</param>
internal sealed record HealthMapping(string Service, IReadOnlySet<string> Checks, bool IsChosen)
{
    /// <summary>Returns the mappings of the application, and those of services without one.</summary>
    public static IReadOnlyList<HealthMapping> All(
        ShmHealthOptions options, IEnumerable<string> services, HealthCheckServiceOptions host)
    {
        IEnumerable<HealthMapping> chosen = options.Mappings.Select(one =>
            new HealthMapping(one.Key, Names(host.Registrations.Where(one.Value)), IsChosen: true));
        IReadOnlySet<string> all = Names(host.Registrations);
        IEnumerable<HealthMapping> others = services.Prepend("").Except(options.Mappings.Keys)
            .Select(service => new HealthMapping(service, all, IsChosen: false));
        return [.. chosen, .. others];
    }

    private static HashSet<string> Names(IEnumerable<HealthCheckRegistration> checks) =>
        checks.Select(one => one.Name).ToHashSet(StringComparer.OrdinalIgnoreCase);
}
