using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Clients;

namespace RpcOverShm.Hosting;

/// <summary>Adds clients and channels to the services of a host.</summary>
/// <remarks>Not thread-safe, like every <see cref="IServiceCollection"/>.</remarks>
public static class ShmClientServiceCollectionExtensions
{
    /// <summary>Adds a client that code gets by its type.</summary>
    /// <typeparam name="TClient">
    /// The type of the client: a generated one, or any class with a public constructor that takes a
    /// <see cref="CallInvoker"/>; further arguments come from the container.
    /// </typeparam>
    /// <param name="services">The services of the host.</param>
    /// <param name="address">The address of the server, as for <see cref="ShmChannel.ForAddress"/>.</param>
    /// <param name="configure">Sets options of the channel; null for the defaults.</param>
    /// <returns>A builder for the client, whose name is the full name of its type.</returns>
    /// <exception cref="ArgumentNullException">The services or the address are null.</exception>
    /// <exception cref="ArgumentException">
    /// The address is empty, the type has no such constructor, or it was added with another address.
    /// </exception>
    /// <remarks>
    /// <para>
    /// Clients are transient, and share one channel, which connects with the first call; the container disposes it.
    /// Invalid options fail the start of the host. The channel logs to the host's <see cref="ILoggerFactory"/>, unless
    /// the options have another.
    /// </para>
    /// <para>
    /// If the same client was added before, returns a builder for it, with the interceptors that it has.
    /// </para>
    /// </remarks>
    public static ShmClientBuilder AddShmClient<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        this IServiceCollection services, string address, Action<ShmChannelOptions>? configure = null)
        where TClient : class
    {
        ShmClientBuilder builder = Add<TClient>(services, DefaultName<TClient>(), address, configure);
        services.TryAddTransient(provider =>
            provider.GetRequiredService<ShmClientFactory>().CreateClient<TClient>(DefaultName<TClient>()));
        return builder;
    }

    /// <summary>
    /// Adds a client that code gets by its name: from <see cref="ShmClientFactory"/>, or with the name as a key.
    /// </summary>
    /// <typeparam name="TClient">As for
    /// <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>.
    /// </typeparam>
    /// <param name="services">The services of the host.</param>
    /// <param name="name">
    /// The name, which no client of another type has; also the name of the channel's options.
    /// </param>
    /// <param name="address">The address of the server, as for <see cref="ShmChannel.ForAddress"/>.</param>
    /// <param name="configure">Sets options of the channel; null for the defaults.</param>
    /// <returns>A builder for the client.</returns>
    /// <exception cref="ArgumentNullException">The services, the name or the address are null.</exception>
    /// <exception cref="ArgumentException">
    /// The name or the address is empty, the type has no such constructor, or the name was added with another address
    /// or type.
    /// </exception>
    /// <remarks>
    /// As <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>. Each name has a
    /// channel of its own.
    /// </remarks>
    public static ShmClientBuilder AddShmClient<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        this IServiceCollection services, string name, string address, Action<ShmChannelOptions>? configure = null)
        where TClient : class
    {
        ShmClientBuilder builder = Add<TClient>(services, name, address, configure);
        services.TryAddKeyedTransient(name, (provider, _) =>
            provider.GetRequiredService<ShmClientFactory>().CreateClient<TClient>(name));
        return builder;
    }

    /// <summary>Adds a channel that code gets by a key.</summary>
    /// <param name="services">The services of the host.</param>
    /// <param name="key">The key, as for <see cref="FromKeyedServicesAttribute"/>.</param>
    /// <param name="address">The address of the server, as for <see cref="ShmChannel.ForAddress"/>.</param>
    /// <param name="configure">Sets options; null for the defaults.</param>
    /// <returns>The services.</returns>
    /// <exception cref="ArgumentNullException">The services, the key or the address are null.</exception>
    /// <exception cref="ArgumentException">The address is empty, or the key has a channel already.</exception>
    /// <remarks>
    /// One <see cref="ShmChannel"/> for the whole container, which creates and disposes it. It is created when it is
    /// needed first; invalid options throw then. It logs to the host's <see cref="ILoggerFactory"/>, unless the options
    /// have another.
    /// </remarks>
    public static IServiceCollection AddKeyedShmChannel(
        this IServiceCollection services,
        object key,
        string address,
        Action<IServiceProvider, ShmChannelOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentNullException.ThrowIfNull(key);
        ArgumentException.ThrowIfNullOrEmpty(address);
        if (services.Any(one =>
            one.ServiceType == typeof(ShmChannel) && one.IsKeyedService && key.Equals(one.ServiceKey)))
        {
            throw new ArgumentException($"The key '{key}' has a channel already; use another key.", nameof(key));
        }

        services.AddLogging();
        return services.AddKeyedSingleton(key, (provider, _) =>
        {
            var options = new ShmChannelOptions();
            configure?.Invoke(provider, options);
            options.LoggerFactory ??= provider.GetRequiredService<ILoggerFactory>();
            return ShmChannel.ForAddress(address, options);
        });
    }

    private static string DefaultName<TClient>() => typeof(TClient).FullName ?? typeof(TClient).Name;

    private static ShmClientBuilder Add<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        IServiceCollection services, string name, string address, Action<ShmChannelOptions>? configure)
        where TClient : class
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentException.ThrowIfNullOrEmpty(address);
        ClientRegistration? registration = services
            .Select(one => one.IsKeyedService ? null : one.ImplementationInstance as ClientRegistration)
            .FirstOrDefault(one => one?.Name == name);
        if (registration is null)
        {
            registration = ClientRegistration.Of<TClient>(name, address);
            Register(services, registration);
        }
        else if (registration.ClientType != typeof(TClient) || registration.Address != address)
        {
            throw new ArgumentException(
                $"The client '{name}' was added as {registration.ClientType} with the address {registration.Address}; "
                + $"it cannot be {typeof(TClient)} with {address}, too. Give the second client another name.",
                nameof(name));
        }

        var builder = new ShmClientBuilder(services, registration);
        return configure is null ? builder : builder.ConfigureChannel(configure);
    }

    private static void Register(IServiceCollection services, ClientRegistration registration)
    {
        services.AddLogging();
        services.AddOptions<ShmChannelOptions>(registration.Name)
            .PostConfigure<ILoggerFactory>(static (options, factory) => options.LoggerFactory ??= factory)
            .ValidateOnStart();
        services.AddSingleton<IValidateOptions<ShmChannelOptions>>(new ChannelOptionsValidation(registration));
        services.AddSingleton(registration);
        services.AddKeyedSingleton(registration, (provider, _) => new ClientChannel(provider, registration));
        services.TryAddTransient<ShmClientFactory, ClientFactory>();
    }
}
