namespace RpcOverShm;

/// <summary>The activators for services that need no container.</summary>
public static class ShmServiceActivator
{
    /// <summary>Returns an activator that calls the constructor without parameters.</summary>
    /// <typeparam name="TService">The type of the service.</typeparam>
    /// <returns>A thread-safe activator. It disposes its instances when they are released.</returns>
    public static ShmServiceActivator<TService> FromConstructor<TService>()
        where TService : class, new() =>
        new Factory<TService>(static _ => new TService());

    /// <summary>Returns an activator that calls a function.</summary>
    /// <typeparam name="TService">The type of the service.</typeparam>
    /// <param name="create">
    /// Creates an instance; thread-safe. It returns a new one each time, because released instances are disposed.
    /// </param>
    /// <returns>A thread-safe activator. It disposes its instances when they are released.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    public static ShmServiceActivator<TService> FromFactory<TService>(Func<ShmActivationContext, TService> create)
        where TService : class
    {
        ArgumentNullException.ThrowIfNull(create);
        return new Factory<TService>(create);
    }

    private sealed class Factory<TService>(Func<ShmActivationContext, TService> create) : ShmServiceActivator<TService>
        where TService : class
    {
        public override ShmServiceInstance<TService> Create(ShmActivationContext context) => new(create(context));
    }
}
