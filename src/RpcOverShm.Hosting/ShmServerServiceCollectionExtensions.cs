using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RpcOverShm;
using RpcOverShm.Hosting;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.Servers;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds servers to the services of a host.</summary>
/// <remarks>Not thread-safe, like every <see cref="IServiceCollection"/>.</remarks>
public static class ShmServerServiceCollectionExtensions
{
    /// <summary>Adds a server whose name is its address.</summary>
    /// <param name="services">The services of the host.</param>
    /// <param name="address">The address, as for the constructor of <see cref="ShmServer"/>.</param>
    /// <param name="configure">Sets options; null for the defaults.</param>
    /// <returns>A builder for the services of the server.</returns>
    /// <exception cref="ArgumentNullException">The services or the address are null.</exception>
    /// <exception cref="ArgumentException">The address is empty.</exception>
    /// <remarks>
    /// <para>
    /// The server starts with the host: invalid options, and an address that a live server holds, fail the start of the
    /// host. When the host begins to stop, the server takes no more clients and calls, and gives those that run until
    /// shortly before <see cref="HostOptions.ShutdownTimeout"/> ends; then it cancels them. Several servers drain at
    /// the same time. The server logs to the host's <see cref="ILoggerFactory"/>, unless the options have another.
    /// </para>
    /// <para>
    /// The container has the <see cref="ShmServer"/> under its name as a key, and the first server also without a key;
    /// it disposes them. If the same name was added before, returns a builder for that server.
    /// </para>
    /// </remarks>
    public static ShmServerBuilder AddShmServer(
        this IServiceCollection services, string address, Action<ShmServerOptions>? configure = null)
    {
        AddressCheck.ThrowIfMissing(address);
        return services.AddShmServer(address, address, configure);
    }

    /// <summary>Adds a server with a name, which is also the name of its options.</summary>
    /// <param name="services">The services of the host.</param>
    /// <param name="name">The name, which no other server of the host has.</param>
    /// <param name="address">The address, as for the constructor of <see cref="ShmServer"/>.</param>
    /// <param name="configure">Sets options; null for the defaults.</param>
    /// <returns>A builder for the services of the server.</returns>
    /// <exception cref="ArgumentNullException">The services, the name or the address are null.</exception>
    /// <exception cref="ArgumentException">
    /// The name or the address is empty, or a server of this name has another address.
    /// </exception>
    /// <remarks>
    /// See <see cref="AddShmServer(IServiceCollection, string, Action{ShmServerOptions})"/>.
    /// </remarks>
    public static ShmServerBuilder AddShmServer(
        this IServiceCollection services, string name, string address, Action<ShmServerOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentException.ThrowIfNullOrEmpty(name);
        AddressCheck.ThrowIfMissing(address);
        ServerRegistration? registration = services
            .Select(one => one.IsKeyedService ? null : one.ImplementationInstance as ServerRegistration)
            .FirstOrDefault(one => one?.Name == name);
        if (registration is null)
        {
            registration = new ServerRegistration(services, name, address);
            Register(services, registration);
        }
        else if (registration.Address != address)
        {
            throw new ArgumentException(
                $"The server '{name}' was added with the address {registration.Address}; it cannot have {address}, "
                + "too. Give the second server another name.",
                nameof(address));
        }

        var builder = new ShmServerBuilder(services, registration);
        return configure is null ? builder : builder.Configure(configure);
    }

    private static void Register(IServiceCollection services, ServerRegistration registration)
    {
        services.AddLogging();
        services.AddOptions<ShmServerOptions>(registration.Name)
            .PostConfigure<ILoggerFactory>(static (options, factory) => options.LoggerFactory ??= factory)
            .ValidateOnStart();
        services.AddSingleton<IValidateOptions<ShmServerOptions>>(new ServerOptionsValidation(registration));
        services.AddSingleton(registration);
        services.AddKeyedSingleton(registration.Name, (provider, _) => ServerAssembly.Create(provider, registration));
        services.TryAddSingleton(provider => provider.GetRequiredKeyedService<ShmServer>(registration.Name));
        services.AddSingleton<IHostedService>(provider => new HostedServer(
            registration,
            provider,
            provider.GetRequiredService<IOptions<HostOptions>>()));
    }
}
