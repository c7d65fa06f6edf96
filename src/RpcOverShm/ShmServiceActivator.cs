using Grpc.Core;

namespace RpcOverShm;

/// <summary>Creates the instances of a service, and releases them.</summary>
/// <typeparam name="TService">
/// The class of the service. It derives from a generated base, or its methods are bound by a function.
/// </typeparam>
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
