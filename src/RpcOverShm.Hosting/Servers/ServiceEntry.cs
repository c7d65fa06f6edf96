using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Hosting.Calls;
using ServiceDescriptor = Google.Protobuf.Reflection.ServiceDescriptor;

namespace RpcOverShm.Hosting.Servers;

/// <summary>A service of a server.</summary>
/// <param name="Type">The class of the service; null if a function makes its definition.</param>
/// <param name="Descriptor">The descriptor for reflection; null if it is not known.</param>
/// <param name="Add">Adds the service to the server that is being created.</param>
/// <param name="Problem">Returns what keeps an instance from being created; null for nothing.</param>
internal sealed record ServiceEntry(
    Type? Type, ServiceDescriptor? Descriptor, Action<ServiceTarget> Add, Func<Dependencies, string?> Problem)
{
    /// <summary>The members that a trimmed application keeps of a service: to create and to bind it.</summary>
    public const DynamicallyAccessedMemberTypes Members =
        DynamicallyAccessedMemberTypes.PublicConstructors | DynamicallyAccessedMemberTypes.PublicMethods;

    /// <summary>Returns a service whose instances come from the container.</summary>
    public static ServiceEntry Of<[DynamicallyAccessedMembers(Members)] TService>(Action<ShmServiceOptions>? configure)
        where TService : class => new(typeof(TService), DescriptorOf(typeof(TService)), target =>
        {
            var options = new ShmServiceOptions();
            configure?.Invoke(options);
            var activator = new ContainerActivator<TService>(target.Provider, options.Lifetime, target.HasCallScope);
            target.Services.Add<TService>(activator.Create, options, target.Interceptors);
        },
        static dependencies => dependencies.ProblemOfFactory(typeof(TService)));

    /// <summary>Returns the descriptor that generated code has beside the base class of a service.</summary>
    private static ServiceDescriptor? DescriptorOf(Type service)
    {
        for (Type? type = service; type is not null; type = type.BaseType)
        {
            if (type.GetCustomAttribute<BindServiceMethodAttribute>(inherit: false) is { } attribute)
            {
                // The getter is a method, and methods are what a trimmed application keeps of this type.
                MethodInfo? getter = attribute.BindType.GetMethod(
                    "get_Descriptor", BindingFlags.Public | BindingFlags.Static, []);
                return getter?.Invoke(null, null) as ServiceDescriptor;
            }
        }

        return null;
    }
}

/// <summary>The server to which a service is added, and what the service gets.</summary>
/// <param name="Provider">The container.</param>
/// <param name="Services">The services of the server.</param>
/// <param name="Interceptors">The interceptors of the service, the outermost first.</param>
/// <param name="HasCallScope">Whether one of them makes a scope for each call.</param>
internal sealed record ServiceTarget(
    IServiceProvider Provider, ShmServiceCollection Services, Interceptor[] Interceptors, bool HasCallScope);
