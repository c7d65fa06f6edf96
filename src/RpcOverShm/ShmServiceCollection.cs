using System.Collections;
using Grpc.Core;

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
    /// <exception cref="ArgumentNullException">There is none.</exception>
    /// <exception cref="InvalidOperationException">The server was started already.</exception>
    public void Add(ServerServiceDefinition service)
    {
        ArgumentNullException.ThrowIfNull(service);
        if (_server.IsStarted)
        {
            throw new InvalidOperationException(
                $"The server at {_server.Address} was started already; services are added before.");
        }

        _definitions.Add(service);
    }

    /// <inheritdoc/>
    public IEnumerator<ServerServiceDefinition> GetEnumerator() => _definitions.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
