using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Clients;

/// <summary>The channel and the interceptors that the clients of a registration share. Thread-safe.</summary>
/// <remarks>
/// The container has the channel under the name of the client, and disposes it. This object disposes it too: before
/// the interceptors from the container, which calls may use until then.
/// </remarks>
internal sealed class ClientChannel : IDisposable, IAsyncDisposable
{
    private readonly ShmChannel _channel;

    public ClientChannel(IServiceProvider provider, ClientRegistration registration)
    {
        _channel = provider.GetRequiredKeyedService<ShmChannel>(registration.Name);
        Invoker = _channel.CreateCallInvoker();
        if (registration.Propagation is { } propagation)
        {
            Invoker = new PropagatingInvoker(Invoker, propagation.SuppressContextNotFoundErrors);
        }

        Invoker = Invoker.Intercept([.. registration.ChannelInterceptors.Select(create => create(provider))]);
    }

    public CallInvoker Invoker { get; }

    public void Dispose() => _channel.Dispose();

    public ValueTask DisposeAsync() => _channel.DisposeAsync();
}
