using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RpcOverShm;
using RpcOverShm.Hosting;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.Clients;

namespace Microsoft.Extensions.DependencyInjection;

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
    /// The address is empty, the type has no such constructor, it was added with another address, or the type or its
    /// full name is the key of another channel.
    /// </exception>
    /// <remarks>
    /// <para>
    /// Clients are transient, and share one channel, which connects with the first call; the container disposes it.
    /// Invalid options fail the start of the host. The channel logs to the host's <see cref="ILoggerFactory"/>, unless
    /// the options have another.
    /// </para>
    /// <para>
    /// The container has the channel with the type of the client as the key, and with its name. It is for what only a
    /// channel has, such as <see cref="ShmChannel.State"/> and <see cref="ShmChannel.CreateOneWayInvoker"/>. Calls that
    /// are made through it have none of the client's interceptors, call options and propagation.
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
        AddressCheck.ThrowIfMissing(address);
        return AddWithoutName<TClient>(services, new ClientAddress(address, Find: null), configure);
    }

    /// <summary>Adds a client that code gets by its type, with an address from the container.</summary>
    /// <typeparam name="TClient">As for
    /// <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>.
    /// </typeparam>
    /// <param name="services">The services of the host.</param>
    /// <param name="address">
    /// Returns the address. It gets the container itself, which has no scoped services, and is called when the host
    /// starts and when the channel is created.
    /// </param>
    /// <param name="configure">Sets options of the channel; null for the defaults.</param>
    /// <returns>A builder for the client, whose name is the full name of its type.</returns>
    /// <exception cref="ArgumentNullException">The services or the function are null.</exception>
    /// <exception cref="ArgumentException">
    /// The type has no such constructor, it was added with another address or function, or the type or its full name is
    /// the key of another channel.
    /// </exception>
    /// <remarks>
    /// As <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>. An invalid
    /// address fails the start of the host, and so does an exception of the function.
    /// </remarks>
    public static ShmClientBuilder AddShmClient<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        this IServiceCollection services,
        Func<IServiceProvider, string> address,
        Action<ShmChannelOptions>? configure = null)
        where TClient : class
    {
        ArgumentNullException.ThrowIfNull(address);
        return AddWithoutName<TClient>(services, new ClientAddress(Text: null, address), configure);
    }

    /// <summary>
    /// Adds a client that code gets by its name: from <see cref="ShmClientFactory"/>, or with the name as a key.
    /// </summary>
    /// <typeparam name="TClient">As for
    /// <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>.
    /// </typeparam>
    /// <param name="services">The services of the host.</param>
    /// <param name="name">
    /// The name, which no client of another type has; also the name of the channel's options and the key of the
    /// channel.
    /// </param>
    /// <param name="address">The address of the server, as for <see cref="ShmChannel.ForAddress"/>.</param>
    /// <param name="configure">Sets options of the channel; null for the defaults.</param>
    /// <returns>A builder for the client.</returns>
    /// <exception cref="ArgumentNullException">The services, the name or the address are null.</exception>
    /// <exception cref="ArgumentException">
    /// The name or the address is empty, the type has no such constructor, or the name was added with another address
    /// or type, or is the key of another channel.
    /// </exception>
    /// <remarks>
    /// As <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>. Each name has a
    /// channel of its own, whose key in the container is the name alone. Code that wants the type without a name gets
    /// an <see cref="InvalidOperationException"/> with the names, unless a client was added without one, too.
    /// </remarks>
    public static ShmClientBuilder AddShmClient<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        this IServiceCollection services, string name, string address, Action<ShmChannelOptions>? configure = null)
        where TClient : class
    {
        AddressCheck.ThrowIfMissing(address);
        return AddWithName<TClient>(services, name, new ClientAddress(address, Find: null), configure);
    }

    /// <summary>Adds a client that code gets by its name, with an address from the container.</summary>
    /// <typeparam name="TClient">As for
    /// <see cref="AddShmClient{TClient}(IServiceCollection, string, Action{ShmChannelOptions})"/>.
    /// </typeparam>
    /// <param name="services">The services of the host.</param>
    /// <param name="name">As for
    /// <see cref="AddShmClient{TClient}(IServiceCollection, string, string, Action{ShmChannelOptions})"/>.
    /// </param>
    /// <param name="address">
    /// Returns the address. It gets the container itself, which has no scoped services, and is called when the host
    /// starts and when the channel is created.
    /// </param>
    /// <param name="configure">Sets options of the channel; null for the defaults.</param>
    /// <returns>A builder for the client.</returns>
    /// <exception cref="ArgumentNullException">The services, the name or the function are null.</exception>
    /// <exception cref="ArgumentException">
    /// The name is empty, the type has no such constructor, or the name was added with another address, function or
    /// type, or is the key of another channel.
    /// </exception>
    /// <remarks>
    /// As <see cref="AddShmClient{TClient}(IServiceCollection, string, string, Action{ShmChannelOptions})"/>.
    /// </remarks>
    public static ShmClientBuilder AddShmClient<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        this IServiceCollection services,
        string name,
        Func<IServiceProvider, string> address,
        Action<ShmChannelOptions>? configure = null)
        where TClient : class
    {
        ArgumentNullException.ThrowIfNull(address);
        return AddWithName<TClient>(services, name, new ClientAddress(Text: null, address), configure);
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
        AddressCheck.ThrowIfMissing(address);
        ThrowIfTaken(services, key, nameof(key));
        services.AddLogging();
        return services.AddKeyedSingleton(key, (provider, _) =>
        {
            var options = new ShmChannelOptions();
            configure?.Invoke(provider, options);
            options.LoggerFactory ??= provider.GetRequiredService<ILoggerFactory>();
            return ShmChannel.ForAddress(address, options);
        });
    }

    private static ShmClientBuilder AddWithoutName<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        IServiceCollection services, ClientAddress address, Action<ShmChannelOptions>? configure)
        where TClient : class
    {
        string name = typeof(TClient).FullName ?? typeof(TClient).Name;
        ShmClientBuilder builder = Add<TClient>(services, name, address, configure, typeof(TClient));
        NamedClient.Remove(services, typeof(TClient));
        services.TryAddTransient(provider =>
            provider.GetRequiredService<ShmClientFactory>().CreateClient<TClient>(name));
        services.TryAddKeyedSingleton<ShmChannel>(
            typeof(TClient), (provider, _) => provider.GetRequiredKeyedService<ShmChannel>(name));
        return builder;
    }

    private static ShmClientBuilder AddWithName<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        IServiceCollection services, string name, ClientAddress address, Action<ShmChannelOptions>? configure)
        where TClient : class
    {
        ShmClientBuilder builder = Add<TClient>(services, name, address, configure);
        services.TryAddKeyedTransient(name, (provider, _) =>
            provider.GetRequiredService<ShmClientFactory>().CreateClient<TClient>(name));
        NamedClient.Add(services, typeof(TClient), name);
        return builder;
    }

    private static ShmClientBuilder Add<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        IServiceCollection services,
        string name,
        ClientAddress address,
        Action<ShmChannelOptions>? configure,
        object? secondKey = null)
        where TClient : class
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentException.ThrowIfNullOrEmpty(name);
        ClientRegistration? registration = services
            .Select(one => one.IsKeyedService ? null : one.ImplementationInstance as ClientRegistration)
            .FirstOrDefault(one => one?.Name == name);
        if (registration is null)
        {
            registration = ClientRegistration.Of<TClient>(name, address);
            ThrowIfTaken(services, name, nameof(name));
            if (secondKey is not null)
            {
                ThrowIfTaken(services, secondKey, nameof(TClient));
            }

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
        services.AddSingleton<IValidateOptions<ShmChannelOptions>>(provider =>
            new ChannelOptionsValidation(registration, services, provider));
        services.AddSingleton(registration);
        services.AddKeyedSingleton(registration.Name, (provider, _) => Open(provider, registration));
        services.AddKeyedSingleton(registration, (provider, _) => new ClientChannel(provider, registration));
        services.TryAddTransient<ShmClientFactory, ClientFactory>();
    }

    private static ShmChannel Open(IServiceProvider provider, ClientRegistration registration)
    {
        // The options first: they are checked together with the address, and the failure names the client.
        ShmChannelOptions options = provider.GetRequiredService<IOptionsMonitor<ShmChannelOptions>>()
            .Get(registration.Name);
        return ShmChannel.ForAddress(registration.Address.In(provider), options);
    }

    private static void ThrowIfTaken(IServiceCollection services, object key, string argument)
    {
        if (services.Any(one =>
            one.ServiceType == typeof(ShmChannel) && one.IsKeyedService && key.Equals(one.ServiceKey)))
        {
            throw new ArgumentException($"The key '{key}' has a channel already; use another one.", argument);
        }
    }
}
