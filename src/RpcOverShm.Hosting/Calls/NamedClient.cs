using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// Stands in the container for a type of clients that all have names, to say how to get one. It leaves when a client of
/// the type is added without a name.
/// </summary>
internal sealed class NamedClient
{
    private readonly SortedSet<string> _names = new(StringComparer.Ordinal);
    private readonly Type _type;

    private NamedClient(Type type) => _type = type;

    /// <summary>Notes that a client was added with a name, unless its type can be injected without one.</summary>
    public static void Add(IServiceCollection services, Type type, string name)
    {
        if (Find(services, type) is not { } registered)
        {
            var client = new NamedClient(type);
            registered = ServiceDescriptor.Transient(type, client.Refuse);
            services.Add(registered);
        }

        Of(registered)?._names.Add(name);
    }

    /// <summary>Makes place for a client without a name.</summary>
    public static void Remove(IServiceCollection services, Type type)
    {
        if (Find(services, type) is { } registered && Of(registered) is not null)
        {
            services.Remove(registered);
        }
    }

    /// <summary>Returns the reason why what is registered cannot be injected; null if it can.</summary>
    public static string? Problem(ServiceDescriptor registered) => Of(registered)?.Explain();

    private static ServiceDescriptor? Find(IServiceCollection services, Type type) =>
        services.LastOrDefault(one => one.ServiceType == type && !one.IsKeyedService);

    private static NamedClient? Of(ServiceDescriptor registered) =>
        registered.IsKeyedService ? null : registered.ImplementationFactory?.Target as NamedClient;

    private object Refuse(IServiceProvider provider) => throw new InvalidOperationException(Explain());

    private string Explain() =>
        $"The clients {_type} have names: {string.Join(", ", _names)}. Take one with "
        + $"[FromKeyedServices(\"{_names.Min}\")] or from ShmClientFactory, or add one without a name.";
}
