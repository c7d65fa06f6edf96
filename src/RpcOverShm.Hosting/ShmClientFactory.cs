using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting;

/// <summary>Creates the clients that were added with a name.</summary>
/// <remarks>
/// <see cref="ShmClientServiceCollectionExtensions"/> registers one; tests may derive from it. Thread-safe. Nothing to
/// dispose. The clients need no disposal either: the container disposes their channels.
/// </remarks>
public abstract class ShmClientFactory
{
    /// <summary>Creates a client; all clients of a name share one channel.</summary>
    /// <typeparam name="TClient">The type with which the client was added.</typeparam>
    /// <param name="name">The name; of a client that was added without one, the full name of its type.</param>
    /// <returns>A new client.</returns>
    /// <exception cref="ArgumentNullException">The name is null.</exception>
    /// <exception cref="InvalidOperationException">
    /// No client of this name was added, or it was added with another type.
    /// </exception>
    public abstract TClient CreateClient<TClient>(string name)
        where TClient : class;
}
