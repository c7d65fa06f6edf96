using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace RpcOverShm.Hosting.Clients;

/// <summary>The channel and the interceptors that the clients of a registration share. Thread-safe.</summary>
internal sealed class ClientChannel : IDisposable, IAsyncDisposable
{
    private readonly ShmChannel _channel;

    public ClientChannel(IServiceProvider provider, ClientRegistration registration)
    {
        _channel = ShmChannel.ForAddress(
            registration.Address,
            provider.GetRequiredService<IOptionsMonitor<ShmChannelOptions>>().Get(registration.Name));
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
