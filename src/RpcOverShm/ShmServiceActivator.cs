using Grpc.Core;

namespace RpcOverShm;

/// <summary>Creates the instances of a service, and releases them.</summary>
/// <typeparam name="TService">The type of the service: a class that derives from a generated base.</typeparam>
/// <remarks>
/// Derived types are thread-safe: instances are created and released at the same time. Nothing to dispose.
/// </remarks>
public abstract class ShmServiceActivator<TService>
    where TService : class
{
    /// <summary>Creates an instance, on the thread that runs the first method of the instance.</summary>
    /// <param name="context">The call or the session that needs the instance.</param>
    /// <returns>The instance, which is passed to <see cref="ReleaseAsync"/> once.</returns>
    /// <remarks>
    /// If it throws, that call ends with <see cref="StatusCode.Internal"/>, and the server logs the exception. The next
    /// call tries again.
    /// </remarks>
    public abstract ShmServiceInstance<TService> Create(ShmActivationContext context);

    /// <summary>Releases an instance after its last method has returned.</summary>
    /// <param name="instance">The instance, with its state.</param>
    /// <remarks>
    /// Disposes the service if it is <see cref="IAsyncDisposable"/> or else <see cref="IDisposable"/>, but not the
    /// state. The server logs an exception.
    /// </remarks>
    public virtual ValueTask ReleaseAsync(ShmServiceInstance<TService> instance)
    {
        switch (instance.Service)
        {
            case IAsyncDisposable service:
                return service.DisposeAsync();
            case IDisposable service:
                service.Dispose();
                break;
        }

        return ValueTask.CompletedTask;
    }
}

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
