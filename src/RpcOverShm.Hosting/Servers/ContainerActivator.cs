using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Servers;

/// <summary>
/// Takes the instances of a service from the container, or lets it create them if the service is not registered: each
/// in a scope of its own, which ends with the instance, or a singleton from the container itself. Thread-safe.
/// </summary>
/// <param name="root">The container.</param>
/// <param name="lifetime">How long an instance serves calls.</param>
/// <param name="sharesScope">Whether the interceptors of a call have a scope, which its instance uses too.</param>
internal sealed class ContainerActivator<
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TService>(
    IServiceProvider root, ShmServiceLifetime lifetime, bool sharesScope)
    where TService : class
{
    private readonly IServiceScopeFactory _scopes = root.GetRequiredService<IServiceScopeFactory>();

    // Made when it is needed: of a registered service the container knows how to make it.
    private readonly Lazy<ObjectFactory<TService>> _create = new(() => ActivatorUtilities.CreateFactory<TService>([]));

    /// <summary>Returns an instance, and tells how it is released.</summary>
    public TService Create(ShmActivationContext context)
    {
        IServiceProvider? shared = lifetime == ShmServiceLifetime.Singleton ? root
            : sharesScope ? CallInterceptors.ScopeOf(context.CallContext)
            : null;
        if (shared is not null)
        {
            return Resolve(shared, scope: null, context);
        }

        AsyncServiceScope scope = _scopes.CreateAsyncScope();

        // Set first: if the instance cannot be created, what the scope has created already is disposed.
        context.Release = scope.DisposeAsync;
        return Resolve(scope.ServiceProvider, scope, context);
    }

    private TService Resolve(IServiceProvider provider, AsyncServiceScope? scope, ShmActivationContext context)
    {
        if (provider.GetService<TService>() is { } registered)
        {
            // The container disposes its own.
            context.Release ??= static () => ValueTask.CompletedTask;
            return registered;
        }

        TService created = _create.Value(provider, []);
        if (scope is { } its && created is (IAsyncDisposable or IDisposable))
        {
            context.Release = () => DisposeAsync(created, its);
        }

        return created;
    }

    private static async ValueTask DisposeAsync(TService service, AsyncServiceScope scope)
    {
        await using (scope.ConfigureAwait(false))
        {
            switch (service)
            {
                case IAsyncDisposable one:
                    await one.DisposeAsync().ConfigureAwait(false);
                    break;
                case IDisposable one:
                    one.Dispose();
                    break;
            }
        }
    }
}
