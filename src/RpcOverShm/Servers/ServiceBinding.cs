using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>Finds the generated code that binds a service. Stateless.</summary>
internal static class ServiceBinding
{
    /// <summary>The members of a service that a trimmed application keeps: its methods.</summary>
    public const DynamicallyAccessedMemberTypes Members = DynamicallyAccessedMemberTypes.PublicMethods;

    /// <summary>Returns the generated BindService method for the base class of a service, as a delegate.</summary>
    /// <exception cref="ArgumentException">The class does not derive from a generated one.</exception>
    public static Action<ServiceBinderBase, TService?> FindBindService<TService>()
        where TService : class
    {
        for (Type? type = typeof(TService); type is not null; type = type.BaseType)
        {
            if (type.GetCustomAttribute<BindServiceMethodAttribute>(inherit: false) is { } attribute
                && attribute.BindType.GetMethod(
                    attribute.BindMethodName,
                    BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static,
                    [typeof(ServiceBinderBase), type]) is { } bind)
            {
                return bind.CreateDelegate<Action<ServiceBinderBase, TService?>>();
            }
        }

        throw new ArgumentException(
            $"{typeof(TService)} does not derive from a class that Grpc.Tools has generated from a .proto file. "
            + "Pass a function that binds its methods, or add a ServerServiceDefinition.");
    }
}
