using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using RpcOverShm.Hosting.Calls;

namespace RpcOverShm.Hosting.Servers;

/// <summary>
/// Takes the instances of a service from the container, or lets it create them if the service is not registered: each
/// in a scope of its own, which ends with the instance, or a singleton from the container itself. Thread-safe.
/// </summary>
/// <param name="root">The container.</param>
/// <param name="lifetime">How long an instance serves calls.</param>
/// <param name="sharesScope">Whether the interceptors of a call have a scope, which its instance uses too.</param>
/// <param name="logger">Logs scopes that cannot be disposed.</param>
internal sealed class ContainerActivator<
    [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TService>(
    IServiceProvider root, ShmServiceLifetime lifetime, bool sharesScope, ILogger logger)
    : ShmServiceActivator<TService>
    where TService : class
{
    private readonly IServiceScopeFactory _scopes = root.GetRequiredService<IServiceScopeFactory>();

    // Made when it is needed: of a registered service the container knows how to make it.
    private readonly Lazy<ObjectFactory<TService>> _create = new(() => ActivatorUtilities.CreateFactory<TService>([]));

    public override ShmServiceInstance<TService> Create(ShmActivationContext context)
    {
        if (lifetime == ShmServiceLifetime.Singleton)
        {
            return Resolve(root, scope: null);
        }

        if (sharesScope && CallInterceptors.ScopeOf(context.CallContext) is { } shared)
        {
            return Resolve(shared, scope: null);
        }

        AsyncServiceScope scope = _scopes.CreateAsyncScope();
        try
        {
            return Resolve(scope.ServiceProvider, scope);
        }
        catch (Exception)
        {
            // What the scope has created already is disposed, while the call fails with the exception.
            _ = AbandonAsync(scope);
            throw;
        }
    }

    public override async ValueTask ReleaseAsync(ShmServiceInstance<TService> instance)
    {
        var held = (Held)instance.State!;
        try
        {
            if (held.IsOwned)
            {
                await base.ReleaseAsync(instance).ConfigureAwait(false);
            }
        }
        finally
        {
            if (held.Scope is { } scope)
            {
                await scope.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    private ShmServiceInstance<TService> Resolve(IServiceProvider provider, AsyncServiceScope? scope) =>
        provider.GetService<TService>() is { } registered
            ? new ShmServiceInstance<TService>(registered, new Held(scope, IsOwned: false))
            : new ShmServiceInstance<TService>(_create.Value(provider, []), new Held(scope, IsOwned: true));

    private async Task AbandonAsync(AsyncServiceScope scope)
    {
        try
        {
            await scope.DisposeAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            HostingLog.ScopeNotDisposed(logger, typeof(TService), exception);
        }
    }

    /// <summary>The scope that ends with an instance, and whether the instance is disposed here, too.</summary>
    private sealed record Held(AsyncServiceScope? Scope, bool IsOwned);
}
