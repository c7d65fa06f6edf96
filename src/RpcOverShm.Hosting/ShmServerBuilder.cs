using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.HealthChecks;
using RpcOverShm.Hosting.Servers;
using MessageServiceDescriptor = Google.Protobuf.Reflection.ServiceDescriptor;

namespace RpcOverShm.Hosting;

/// <summary>Adds services, interceptors and options to a server of a host.</summary>
/// <remarks>
/// Comes from <see cref="ShmServerServiceCollectionExtensions"/>. Used before the host is built. Not thread-safe.
/// Nothing to dispose.
/// </remarks>
public sealed class ShmServerBuilder
{
    private readonly ServerRegistration _registration;

    internal ShmServerBuilder(IServiceCollection services, ServerRegistration registration)
    {
        Services = services;
        _registration = registration;
    }

    /// <summary>Gets the services of the host.</summary>
    public IServiceCollection Services { get; }

    /// <summary>Gets the name of the server, which is the name of its options and the key of its object.</summary>
    public string Name => _registration.Name;

    /// <summary>Gets the address of the server.</summary>
    public string Address => _registration.Address;

    /// <summary>Sets options, after those that were set before.</summary>
    /// <param name="configure">Sets the options when the server is created.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The delegate is null.</exception>
    public ShmServerBuilder Configure(Action<ShmServerOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        Services.Configure(Name, configure);
        return this;
    }

    /// <summary>Sets options, with services of the container, after those that were set before.</summary>
    /// <param name="configure">
    /// Sets the options when the server is created. It gets the container itself, which has no scoped services.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The delegate is null.</exception>
    public ShmServerBuilder Configure(Action<IServiceProvider, ShmServerOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        Services.AddOptions<ShmServerOptions>(Name)
            .Configure<IServiceProvider>((options, provider) => configure(provider, options));
        return this;
    }

    /// <summary>Sets options from a section of the configuration, after those that were set before.</summary>
    /// <param name="section">
    /// A section with the names of <see cref="ShmServerOptions"/>. One that does not exist sets nothing, which is
    /// logged.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The section is null.</exception>
    /// <remarks>
    /// The section is read once, when the server is created. A name that is no option, a value that does not fit, and a
    /// time that is a number alone fail the start of the host with an <see cref="OptionsValidationException"/>. A list
    /// adds to the list that is there. Options that no text can stand for, such as
    /// <see cref="ShmServerOptions.Codecs"/>, are set in code.
    /// </remarks>
    public ShmServerBuilder Bind(IConfiguration section)
    {
        ArgumentNullException.ThrowIfNull(section);
        Services.AddOptions<ShmServerOptions>(Name).Configure<IServiceProvider>(
            (options, provider) => BoundOptions.Bind(section, options, Name, provider));
        return this;
    }

    /// <summary>Adds a service whose instances the container activates.</summary>
    /// <typeparam name="TService">The class of the service, which derives from a generated base class.</typeparam>
    /// <param name="configure">
    /// Sets the options of the service; null for an instance for each call. Invalid ones fail the start of the host.
    /// </param>
    /// <returns>This builder.</returns>
    /// <remarks>
    /// <para>
    /// An instance for each call, or for each session, has a scope of the container for as long as it lives; the scope
    /// is disposed asynchronously with it. With interceptors that are activated for each call, the instance for a call
    /// comes from their scope. A singleton comes from the container itself.
    /// </para>
    /// <para>
    /// If the class is registered in the container, the instance is the registered one, with its lifetime there, and
    /// the container disposes it. Otherwise it is created with arguments from the container, and disposed when it is
    /// released. If something that its constructor needs is not registered, the host does not start. If a constructor
    /// throws, its call ends with <see cref="StatusCode.Internal"/>, and the server logs the exception.
    /// </para>
    /// </remarks>
    public ShmServerBuilder AddService<[DynamicallyAccessedMembers(ServiceEntry.Members)] TService>(
        Action<ShmServiceOptions>? configure = null)
        where TService : class
    {
        _registration.Services.Add(ServiceEntry.Of<TService>(configure));
        return this;
    }

    /// <summary>Adds a service by its definition.</summary>
    /// <param name="create">
    /// Makes the definition when the server is created, such as with the generated <c>BindService</c>.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    public ShmServerBuilder AddService(Func<IServiceProvider, ServerServiceDefinition> create)
    {
        ArgumentNullException.ThrowIfNull(create);
        _registration.Services.Add(new ServiceEntry(Type: null, Descriptor: null, target =>
            target.Services.Add(create(target.Provider), target.Interceptors), Problem: static _ => null));
        return this;
    }

    /// <summary>Adds an interceptor of all services, also of health and reflection.</summary>
    /// <typeparam name="TInterceptor">The type of the interceptor.</typeparam>
    /// <returns>This builder.</returns>
    /// <remarks>
    /// <para>
    /// The first one that is added is the outermost; all run inside <see cref="ShmServerOptions.Interceptors"/>. As in
    /// ASP.NET Core, an interceptor is activated for each call: taken from the scope of the call if it is registered
    /// there, or else created, with arguments from that scope, and disposed at the end of the call. Each is activated
    /// when the one before it goes on.
    /// </para>
    /// <para>
    /// An interceptor that is registered as a singleton serves all calls. If all interceptors of a service are
    /// singletons, its calls have no scope for interceptors, and cost nothing more.
    /// </para>
    /// </remarks>
    public ShmServerBuilder AddInterceptor<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TInterceptor>()
        where TInterceptor : Interceptor
    {
        _registration.Interceptors.Add(InterceptorEntry.Of<TInterceptor>(service: null));
        return this;
    }

    /// <summary>Adds an interceptor of one service.</summary>
    /// <typeparam name="TInterceptor">The type of the interceptor.</typeparam>
    /// <typeparam name="TService">
    /// The class of a service that is added with <see cref="AddService{TService}"/>, before or after. Without it, the
    /// host does not start.
    /// </typeparam>
    /// <returns>This builder.</returns>
    /// <remarks>As <see cref="AddInterceptor{TInterceptor}"/>, in one order with the interceptors of all.</remarks>
    public ShmServerBuilder AddInterceptor<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TInterceptor, TService>()
        where TInterceptor : Interceptor
        where TService : class
    {
        _registration.Interceptors.Add(InterceptorEntry.Of<TInterceptor>(typeof(TService)));
        return this;
    }

    /// <summary>Offers the health checks of the host as the service <c>grpc.health.v1.Health</c>.</summary>
    /// <param name="configure">Maps services to health checks; null for the default.</param>
    /// <returns>This builder.</returns>
    /// <remarks>
    /// <para>
    /// By default the server itself (the empty name) and each of its services depend on all health checks of the host,
    /// and are Serving without any. <see cref="ShmHealthOptions.Map"/> chooses. A service is NotServing if a check of
    /// it is Unhealthy; Degraded is Serving.
    /// </para>
    /// <para>
    /// A call of Check runs the checks, and so does the start of a watch. A watch then follows what
    /// <see cref="HealthCheckPublisherOptions"/> schedules: every 30 seconds by default. When the server begins to
    /// stop, watches get NotServing and end, so they do not delay the stop.
    /// </para>
    /// </remarks>
    public ShmServerBuilder AddHealth(Action<ShmHealthOptions>? configure = null)
    {
        configure?.Invoke(_registration.Health ??= new ShmHealthOptions());
        _registration.Health ??= new ShmHealthOptions();
        Services.AddHealthChecks();
        Services.TryAddSingleton<HealthPublisher>();
        Services.TryAddEnumerable(ServiceDescriptor.Singleton<IHealthCheckPublisher, HealthPublisher>(
            static provider => provider.GetRequiredService<HealthPublisher>()));
        return this;
    }

    /// <summary>Offers the server's services by reflection (<c>grpc.reflection.v1</c> and <c>v1alpha</c>).</summary>
    /// <param name="descriptors">
    /// The descriptors of services that were added by a definition. Those of generated classes are found.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The array or a descriptor is null.</exception>
    public ShmServerBuilder AddReflection(params MessageServiceDescriptor[] descriptors)
    {
        ArgumentNullException.ThrowIfNull(descriptors);
        foreach (MessageServiceDescriptor descriptor in descriptors)
        {
            ArgumentNullException.ThrowIfNull(descriptor, nameof(descriptors));
        }

        _registration.Descriptors.AddRange(descriptors);
        _registration.HasReflection = true;
        return this;
    }
}
