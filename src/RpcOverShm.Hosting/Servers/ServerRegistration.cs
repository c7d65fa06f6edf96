using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Servers;

/// <summary>The parts of one server that its builder has collected. Read when the server is created.</summary>
internal sealed class ServerRegistration(IServiceCollection container, string name, string address)
{
    public string Name => name;

    public string Address => address;

    public List<ServiceEntry> Services { get; } = [];

    /// <summary>The interceptors in the order in which they run.</summary>
    public List<InterceptorEntry> Interceptors { get; } = [];

    /// <summary>The health service; null for none.</summary>
    public ShmHealthOptions? Health { get; set; }

    /// <summary>Whether the server offers reflection.</summary>
    public bool HasReflection { get; set; }

    /// <summary>Descriptors for reflection that the types of the services do not tell.</summary>
    public List<Google.Protobuf.Reflection.ServiceDescriptor> Descriptors { get; } = [];

    /// <summary>The registrations of the host, for checks before the first call.</summary>
    public IServiceCollection Container => container;

    /// <summary>Returns whether the container has one object of a type for all.</summary>
    public bool IsSingleton(Type type) =>
        container.LastOrDefault(one => one.ServiceType == type && !one.IsKeyedService)
            is { Lifetime: ServiceLifetime.Singleton };
}
