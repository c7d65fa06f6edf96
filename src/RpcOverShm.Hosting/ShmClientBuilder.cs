using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.Clients;

namespace RpcOverShm.Hosting;

/// <summary>Adds interceptors and options to a client of a host.</summary>
/// <remarks>
/// Comes from <see cref="ShmClientServiceCollectionExtensions"/>. Used before the host is built. Not thread-safe.
/// Nothing to dispose.
/// </remarks>
public sealed class ShmClientBuilder
{
    private readonly ClientRegistration _registration;

    internal ShmClientBuilder(IServiceCollection services, ClientRegistration registration)
    {
        Services = services;
        _registration = registration;
    }

    /// <summary>Gets the services of the host.</summary>
    public IServiceCollection Services { get; }

    /// <summary>
    /// Gets the name of the client, which is also the name of its channel's options and the key of its channel.
    /// </summary>
    public string Name => _registration.Name;

    /// <summary>Sets options of the channel, after those that were set before.</summary>
    /// <param name="configure">Sets the options when the channel is created.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The delegate is null.</exception>
    public ShmClientBuilder ConfigureChannel(Action<ShmChannelOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        Services.Configure(Name, configure);
        return this;
    }

    /// <summary>Sets options of the channel, with services of the container.</summary>
    /// <param name="configure">Sets the options when the channel is created.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The delegate is null.</exception>
    public ShmClientBuilder ConfigureChannel(Action<IServiceProvider, ShmChannelOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        Services.AddOptions<ShmChannelOptions>(Name)
            .Configure<IServiceProvider>((options, provider) => configure(provider, options));
        return this;
    }

    /// <summary>Sets options of the channel from a section of the configuration.</summary>
    /// <param name="section">
    /// A section with the names of <see cref="ShmChannelOptions"/>. One that does not exist sets nothing, which is
    /// logged.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The section is null.</exception>
    /// <remarks>
    /// The section is read once, when the channel is created. A name that is no option, a value that does not fit, and
    /// a time that is a number alone fail the start of the host with an <see cref="OptionsValidationException"/>.
    /// </remarks>
    public ShmClientBuilder Bind(IConfiguration section)
    {
        ArgumentNullException.ThrowIfNull(section);
        Services.AddOptions<ShmChannelOptions>(Name).Configure<IServiceProvider>(
            (options, provider) => BoundOptions.Bind(section, options, Name, provider));
        return this;
    }

    /// <summary>Adds an interceptor from the container.</summary>
    /// <typeparam name="TInterceptor">
    /// The type of the interceptor. If it is not registered, it is created with arguments from the container.
    /// </typeparam>
    /// <param name="scope">Whether all clients share it, or each has its own.</param>
    /// <returns>This builder.</returns>
    /// <remarks>
    /// The interceptors of each client are outside of the shared ones; of each kind, the first one that is added is the
    /// outermost. Nobody disposes an interceptor that is not registered.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The scope is none of the two.</exception>
    public ShmClientBuilder AddInterceptor<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TInterceptor>(
        ShmInterceptorScope scope = ShmInterceptorScope.Channel)
        where TInterceptor : Interceptor
    {
        _registration.Problems.Add(static dependencies => dependencies.Problem(typeof(TInterceptor)));
        return AddInterceptor(
            static provider => ActivatorUtilities.GetServiceOrCreateInstance<TInterceptor>(provider), scope);
    }

    /// <summary>Adds an interceptor that a function creates.</summary>
    /// <param name="create">Creates the interceptor; it is not disposed.</param>
    /// <param name="scope">Whether all clients share it, or each has its own.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The scope is none of the two.</exception>
    /// <remarks>The order is that of <see cref="AddInterceptor{TInterceptor}(ShmInterceptorScope)"/>.</remarks>
    public ShmClientBuilder AddInterceptor(
        Func<Interceptor> create, ShmInterceptorScope scope = ShmInterceptorScope.Channel)
    {
        ArgumentNullException.ThrowIfNull(create);
        return AddInterceptor(_ => create(), scope);
    }

    /// <summary>Adds an interceptor that a function creates, with services of the container.</summary>
    /// <param name="create">Creates the interceptor; it is not disposed.</param>
    /// <param name="scope">Whether all clients share it, or each has its own.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The scope is none of the two.</exception>
    /// <remarks>The order is that of <see cref="AddInterceptor{TInterceptor}(ShmInterceptorScope)"/>.</remarks>
    public ShmClientBuilder AddInterceptor(
        Func<IServiceProvider, Interceptor> create, ShmInterceptorScope scope = ShmInterceptorScope.Channel)
    {
        ArgumentNullException.ThrowIfNull(create);
        switch (scope)
        {
            case ShmInterceptorScope.Channel:
                _registration.ChannelInterceptors.Add(create);
                break;
            case ShmInterceptorScope.Client:
                _registration.ClientInterceptors.Add(create);
                break;
            default:
                throw new ArgumentOutOfRangeException(nameof(scope), scope, "The scope is Channel or Client.");
        }

        return this;
    }

    /// <summary>Changes the options of each call, before all interceptors.</summary>
    /// <param name="configure">
    /// Returns the options with which the call goes on. It gets those of the call, and the services of the scope in
    /// which the client was resolved. Thread-safe.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    public ShmClientBuilder ConfigureCallOptions(Func<CallOptions, IServiceProvider, CallOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        _registration.CallOptions.Add(configure);
        return this;
    }

    /// <summary>Adds credentials to each call.</summary>
    /// <param name="credentials">The credentials, which apply without TLS.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The credentials are null.</exception>
    /// <remarks>
    /// Credentials that the call has itself apply, too. Callbacks for a blocking call with credentials do not run on
    /// its thread.
    /// </remarks>
    public ShmClientBuilder AddCallCredentials(CallCredentials credentials)
    {
        ArgumentNullException.ThrowIfNull(credentials);
        return ConfigureCallOptions((options, _) => With(credentials, options));
    }

    /// <summary>Adds metadata to each call, such as a token that it takes time to get.</summary>
    /// <param name="addMetadata">Adds metadata for a call. Thread-safe.</param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    /// <remarks>As <see cref="AddCallCredentials(CallCredentials)"/>.</remarks>
    public ShmClientBuilder AddCallCredentials(Func<AuthInterceptorContext, Metadata, Task> addMetadata)
    {
        ArgumentNullException.ThrowIfNull(addMetadata);
        return AddCallCredentials(CallCredentials.FromInterceptor(
            (context, metadata) => addMetadata(context, metadata)));
    }

    /// <summary>Adds metadata to each call, with services of the container.</summary>
    /// <param name="addMetadata">
    /// Adds metadata for a call. It gets the services of the scope in which the client was resolved. Thread-safe.
    /// </param>
    /// <returns>This builder.</returns>
    /// <exception cref="ArgumentNullException">The function is null.</exception>
    /// <remarks>As <see cref="AddCallCredentials(CallCredentials)"/>.</remarks>
    public ShmClientBuilder AddCallCredentials(
        Func<AuthInterceptorContext, Metadata, IServiceProvider, Task> addMetadata)
    {
        ArgumentNullException.ThrowIfNull(addMetadata);
        return ConfigureCallOptions((options, provider) => With(
            CallCredentials.FromInterceptor((context, metadata) => addMetadata(context, metadata, provider)),
            options));
    }

    /// <summary>
    /// Lets the calls that a method of a server makes end with the call of that method: they take over its deadline and
    /// its cancellation.
    /// </summary>
    /// <param name="configure">Sets options; null for the defaults.</param>
    /// <returns>This builder.</returns>
    /// <remarks>
    /// <para>
    /// A deadline or a token of the call itself counts, too: the earlier deadline, and either token. The method is
    /// found by its ExecutionContext, if its server was added to the same services (<see cref="ShmServerBuilder"/>). A
    /// call outside of such a method, or after it has ended, throws <see cref="InvalidOperationException"/>; see
    /// <see cref="ShmCallContextPropagationOptions.SuppressContextNotFoundErrors"/>.
    /// </para>
    /// <para>The calls of all servers of the host cost slightly more.</para>
    /// </remarks>
    public ShmClientBuilder EnableCallContextPropagation(
        Action<ShmCallContextPropagationOptions>? configure = null)
    {
        _registration.Propagation ??= new ShmCallContextPropagationOptions();
        configure?.Invoke(_registration.Propagation);
        Services.TryAddSingleton<CurrentCallInterceptor>();
        return this;
    }

    private static CallOptions With(CallCredentials added, CallOptions options) =>
        options.WithCredentials(options.Credentials is { } own ? CallCredentials.Compose(own, added) : added);
}
