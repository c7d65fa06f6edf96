using System.Diagnostics.CodeAnalysis;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Calls;

namespace RpcOverShm.Hosting.Servers;

/// <summary>An interceptor that the container activates.</summary>
/// <param name="Type">The type of the interceptor.</param>
/// <param name="Service">The type of the only service that has it; null for all services.</param>
/// <param name="Activate">Takes the interceptor from a container, or creates it.</param>
/// <param name="Problem">Returns what keeps it from being created; null for nothing.</param>
internal sealed record InterceptorEntry(
    Type Type,
    Type? Service,
    Func<IServiceProvider, ActivatedInterceptor> Activate,
    Func<Dependencies, string?> Problem)
{
    public static InterceptorEntry Of<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TInterceptor>(Type? service)
        where TInterceptor : Interceptor
    {
        // Made when it is needed: of a registered interceptor the container knows how to make it.
        var create = new Lazy<ObjectFactory<TInterceptor>>(() => ActivatorUtilities.CreateFactory<TInterceptor>([]));
        return new InterceptorEntry(
            typeof(TInterceptor),
            service,
            provider => provider.GetService<TInterceptor>() is { } registered
                ? new ActivatedInterceptor(registered, IsOwned: false)
                : new ActivatedInterceptor(create.Value(provider, []), IsOwned: true),
            static dependencies => dependencies.ProblemOfFactory(typeof(TInterceptor)));
    }
}

/// <summary>An interceptor, and whether its user disposes it: the container disposes its own.</summary>
internal readonly record struct ActivatedInterceptor(Interceptor Interceptor, bool IsOwned);
