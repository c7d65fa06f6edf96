using System.Collections;
using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// The services of a <see cref="ShmServer"/>. Complete before the server is started. Not thread-safe.
/// </summary>
public sealed class ShmServiceCollection : IReadOnlyCollection<ServerServiceDefinition>
{
    private readonly ShmServer _server;
    private readonly List<ServerServiceDefinition> _definitions = [];

    internal ShmServiceCollection(ShmServer server) => _server = server;

    /// <summary>How many services were added.</summary>
    public int Count => _definitions.Count;

    /// <summary>
    /// Adds a service: what the generated <c>BindService</c> returns, or any other definition,
    /// server interceptors included.
    /// </summary>
    /// <param name="service">The service.</param>
    /// <param name="interceptors">
    /// What sees each call of this service, inside those of <see cref="ShmServerOptions.Interceptors"/>; the first one
    /// is the outermost. One object serves all calls, so it must be thread-safe.
    /// </param>
    /// <exception cref="ArgumentNullException">There is none, or an interceptor is null.</exception>
    /// <exception cref="ArgumentException">
    /// There are interceptors, and two methods of the definition have one name.
    /// </exception>
    /// <exception cref="InvalidOperationException">The server was started already.</exception>
    public void Add(ServerServiceDefinition service, params Interceptor[] interceptors)
    {
        ArgumentNullException.ThrowIfNull(service);
        ArgumentNullException.ThrowIfNull(interceptors);
        foreach (Interceptor interceptor in interceptors)
        {
            ArgumentNullException.ThrowIfNull(interceptor, nameof(interceptors));
        }

        if (_server.IsStarted)
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
