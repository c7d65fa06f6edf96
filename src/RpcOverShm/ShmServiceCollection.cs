using System.Collections;
using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>The services of a <see cref="ShmServer"/>, or those that a channel offers for callbacks.</summary>
/// <remarks>
/// Services must be added before the server starts or the channel is created. Not thread-safe. Nothing to dispose.
/// </remarks>
public sealed class ShmServiceCollection : IReadOnlyCollection<ServerServiceDefinition>
{
    private readonly ShmServer? _server; // null for the services of a channel's options
    private readonly List<ServerServiceDefinition> _definitions = [];

    internal ShmServiceCollection(ShmServer? server = null) => _server = server;

    /// <summary>Gets the number of services.</summary>
    public int Count => _definitions.Count;

    /// <summary>Adds a service: the result of the generated <c>BindService</c>, or any other definition.</summary>
    /// <param name="service">The service, which may already contain interceptors.</param>
    /// <param name="interceptors">
    /// The interceptors of this service, the outermost first. They run inside those of
    /// <see cref="ShmServerOptions.Interceptors"/>. Each interceptor serves all calls, so it must be thread-safe.
    /// </param>
    /// <exception cref="ArgumentNullException">
    /// The service, the array of interceptors or one of them is null.
    /// </exception>
    /// <exception cref="ArgumentException">
    /// Interceptors are given, and two methods of the definition have the same name.
    /// </exception>
    /// <exception cref="InvalidOperationException">The server was already started.</exception>
    public void Add(ServerServiceDefinition service, params Interceptor[] interceptors)
    {
        ArgumentNullException.ThrowIfNull(service);
        ArgumentNullException.ThrowIfNull(interceptors);
        foreach (Interceptor interceptor in interceptors)
        {
            ArgumentNullException.ThrowIfNull(interceptor, nameof(interceptors));
        }

        if (_server is { IsStarted: true })
        {
            throw new InvalidOperationException(
                $"The server at {_server.Address} was started already; services are added before.");
        }

        _definitions.Add(InterceptedService.Of(service, interceptors));
    }

    /// <inheritdoc/>
    public IEnumerator<ServerServiceDefinition> GetEnumerator() => _definitions.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
