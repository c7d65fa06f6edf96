using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// Finds what constructors need and the container lacks, without creating anything: at the start of the host instead of
/// the first call. It does not know what a factory of the application needs.
/// </summary>
internal sealed class Dependencies
{
    private const DynamicallyAccessedMemberTypes Constructors = DynamicallyAccessedMemberTypes.PublicConstructors;

    private readonly Dictionary<Type, ServiceDescriptor> _registered;
    private readonly HashSet<Type> _checked = [];

    // Null for a container that does not tell; then nothing is checked.
    private readonly IServiceProviderIsService? _container;

    /// <param name="services">The registrations.</param>
    /// <param name="provider">The container that was built of them.</param>
    public Dependencies(IServiceCollection services, IServiceProvider provider)
    {
        _container = provider.GetService<IServiceProviderIsService>();

        // The last registration of a type is the one that counts.
        _registered = services.Where(one => !one.IsKeyedService)
            .GroupBy(one => one.ServiceType)
            .ToDictionary(types => types.Key, types => types.Last());
    }

    /// <summary>
    /// Returns the first problem with the constructor that a factory calls (<see cref="ActivatorUtilities"/>), or with
    /// what its arguments need; null if there is none. A registered type is made by the container instead.
    /// </summary>
    public string? ProblemOfFactory([DynamicallyAccessedMembers(Constructors)] Type type)
    {
        ConstructorInfo[] constructors = ConstructorsOf(type);
        return _container is { } container && !container.IsService(type) && constructors.Length > 1
            ? $"{type} has several public constructors. Mark the one to call with [ActivatorUtilitiesConstructor]."
            : Problem(type);
    }

    /// <summary>Returns the same for an object that is made by any constructor whose arguments are there.</summary>
    /// <param name="type">The type of the object.</param>
    /// <param name="given">The type of an argument that the constructor has besides; null for none.</param>
    public string? Problem([DynamicallyAccessedMembers(Constructors)] Type type, Type? given = null) =>
        _container is null
            ? null
            : given is null && _container.IsService(type)
                ? ProblemOfRegistered(type)
                : ProblemOf(type, ConstructorsOf(type), given);

    private static ConstructorInfo[] ConstructorsOf([DynamicallyAccessedMembers(Constructors)] Type type)
    {
        ConstructorInfo[] all = type.GetConstructors();
        ConstructorInfo[] marked =
            [.. all.Where(one => one.IsDefined(typeof(ActivatorUtilitiesConstructorAttribute), inherit: false))];
        return marked.Length == 0 ? all : marked;
    }

    private string? ProblemOfRegistered(Type type) =>
        !_checked.Add(type) || !_registered.TryGetValue(type, out ServiceDescriptor? registered)
            ? null
            : registered.ImplementationType is { IsGenericTypeDefinition: false } made
                ? ProblemOf(made, made.GetConstructors(), given: null)
                : NamedClient.Problem(registered);

    // The container takes a constructor that it can call. Without one, the problem is that of the nearest to it.
    private string? ProblemOf(Type type, ConstructorInfo[] constructors, Type? given) => constructors
        .Select(constructor => constructor.GetParameters())
        .Where(parameters => given is null || Array.Exists(parameters, one => one.ParameterType == given))
        .Select(parameters => parameters
            .Where(one => one.ParameterType != given)
            .Select(one => ProblemOf(type, one))
            .OfType<string>()
            .ToArray())
        .MinBy(problems => problems.Length)
        ?.FirstOrDefault();

    // The container would not take the default, but ask what stands for the clients with names.
    private bool IsNamedClient(Type needed) =>
        _registered.TryGetValue(needed, out ServiceDescriptor? registered)
        && NamedClient.Problem(registered) is not null;

    private string? ProblemOf(Type type, ParameterInfo parameter)
    {
        Type needed = parameter.ParameterType;
        if (parameter.HasDefaultValue && !IsNamedClient(needed))
        {
            return null;
        }

        if (parameter.IsDefined(typeof(ServiceKeyAttribute), inherit: false))
        {
            return null;
        }

        if (parameter.GetCustomAttribute<FromKeyedServicesAttribute>() is { } keyed)
        {
            return keyed.LookupMode != ServiceKeyLookupMode.ExplicitKey
                || _container is not IServiceProviderIsKeyedService container
                || container.IsKeyedService(needed, keyed.Key)
                    ? null
                    : $"{type} needs {needed} with the key '{keyed.Key}', which is not registered. Add it to the "
                        + "services with this key, or correct the key.";
        }

        return _container!.IsService(needed)
            ? ProblemOfRegistered(needed)
            : $"{type} needs {needed}, which is not registered. Add it to the services, for example with "
                + $"services.AddScoped<{needed.Name}>().";
    }
}
