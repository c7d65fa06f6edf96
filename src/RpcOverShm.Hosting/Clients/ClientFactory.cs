using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;

namespace RpcOverShm.Hosting.Clients;

/// <summary>Creates clients in the scope of its provider.</summary>
internal sealed class ClientFactory(IServiceProvider provider, IEnumerable<ClientRegistration> registrations)
    : ShmClientFactory
{
    public override TClient CreateClient<TClient>(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        ClientRegistration registration = registrations.FirstOrDefault(one => one.Name == name)
            ?? throw new InvalidOperationException(
                $"There is no client '{name}'; there are: {string.Join(", ", registrations.Select(one => one.Name))}. "
                + $"Add it with services.AddShmClient<{typeof(TClient).Name}>(\"{name}\", address).");
        if (registration.ClientType != typeof(TClient))
        {
            throw new InvalidOperationException(
                $"The client '{name}' was added as {registration.ClientType}, not as {typeof(TClient)}.");
        }

        CallInvoker invoker = provider.GetRequiredKeyedService<ClientChannel>(registration).Invoker;
        if (registration.ClientInterceptors.Count > 0)
        {
            invoker = invoker.Intercept([.. registration.ClientInterceptors.Select(create => create(provider))]);
        }

        if (registration.CallOptions.Count > 0)
        {
            invoker = new ConfiguredInvoker(invoker, registration.CallOptions, provider);
        }

        return (TClient)registration.Create(provider, invoker);
    }
}
