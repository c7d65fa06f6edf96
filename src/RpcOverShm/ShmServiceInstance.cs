namespace RpcOverShm;

/// <summary>An instance of a service, as its activator has created it.</summary>
/// <typeparam name="TService">The type of the service.</typeparam>
/// <param name="Service">The instance that serves calls.</param>
/// <param name="State">
/// What the activator needs to release the instance, such as a scope of a container; null for nothing.
/// </param>
/// <remarks>Thread-safe. <see cref="ShmServiceActivator{TService}.ReleaseAsync"/> disposes what it holds.</remarks>
public readonly record struct ShmServiceInstance<TService>(TService Service, object? State = null)
    where TService : class;
