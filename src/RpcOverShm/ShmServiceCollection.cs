using System.Collections;
using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>The services of a <see cref="ShmServer"/>, or those that a channel offers for callbacks.</summary>
/// <remarks>
/// <para>
/// Services must be added before the server starts or the channel is created. Not thread-safe. Nothing to dispose.
/// </para>
/// <para>
/// The collection is a <see cref="ServiceBinderBase"/>: what binds methods to one adds them here. Such are the
/// generated <c>BindService(binder, service)</c> and the binder of protobuf-net.Grpc, which serves interfaces without a
/// <c>.proto</c> file: <c>server.Services.AddCodeFirst(new Calculator())</c>. That returns the number of methods that
/// it has bound. It leaves out those that it does not know, and all of them if the server was already started, and
/// tells that to its log only.
/// </para>
/// </remarks>
public sealed class ShmServiceCollection : ServiceBinderBase, IReadOnlyCollection<ServerServiceDefinition>
{
    private readonly ShmServer? _server; // null for the services of a channel's options
    private string? _channelAddress;     // of the first channel that was created with the options
    private readonly List<ServerServiceDefinition> _definitions = [];
    private readonly HashSet<string> _orderedMethods = new(StringComparer.Ordinal);

    internal ShmServiceCollection(ShmServer? server = null) => _server = server;

    /// <summary>Gets the number of services that were added, plus that of methods that a binder added.</summary>
    public int Count => _definitions.Count;

    /// <summary>Whether a call may have to wait for others on an instance of its service.</summary>
    internal bool HasInstanceLimits { get; private set; }

    /// <summary>The full names of the methods whose calls start in order.</summary>
    internal IReadOnlySet<string> OrderedMethods => _orderedMethods;

    /// <summary>Adds a service: the result of the generated <c>BindService</c>, or any other definition.</summary>
    /// <param name="service">The service, which may already contain interceptors.</param>
    /// <param name="interceptors">
    /// The interceptors of this service, the outermost first. They run inside those of
    /// <see cref="ShmServerOptions.Interceptors"/>. Each interceptor serves all calls, so it must be thread-safe.
    /// </param>
    /// <exception cref="ArgumentNullException">
    /// The service, the array of interceptors or one of them is null.
    /// </exception>
    /// <exception cref="ArgumentException">
    /// Interceptors are given, and two methods of the definition have the same name.
    /// </exception>
    /// <exception cref="InvalidOperationException">
    /// The server was already started, or a channel was created with the options.
    /// </exception>
    public void Add(ServerServiceDefinition service, params Interceptor[] interceptors)
    {
        ArgumentNullException.ThrowIfNull(service);
        ThrowIfNotAddable(interceptors);
        _definitions.Add(InterceptingBinder.Intercept(service, interceptors));
    }

    /// <summary>Adds a service whose instances a function creates when calls need them.</summary>
    /// <typeparam name="TService">
    /// The class of the service. It derives from a generated base class, whose <c>BindService</c> names the methods.
    /// </typeparam>
    /// <param name="create">
    /// Creates an instance, on the thread that runs the first method of the instance. Thread-safe. It returns a new
    /// instance each time, because the server disposes an instance when it is released, unless
    /// <see cref="ShmActivationContext.Release"/> says otherwise.
    /// </param>
    /// <param name="options">How instances live and run; null for an instance for each call.</param>
    /// <param name="interceptors">
    /// The interceptors of this service, as in <see cref="Add(ServerServiceDefinition, Interceptor[])"/>. They run
    /// before an instance is created, and before a call waits for its instance. An interceptor that replaces the
    /// context returns the <see cref="ServerCallContext.UserState"/> of the original one.
    /// </param>
    /// <exception cref="ArgumentNullException">
    /// The function, the array of interceptors or one of them is null.
    /// </exception>
    /// <exception cref="ArgumentException">
    /// The class does not derive from a generated one, or an option is not allowed; the message says what is.
    /// </exception>
    /// <exception cref="InvalidOperationException">
    /// The server was already started, or a channel was created with the options.
    /// </exception>
    /// <remarks>
    /// If the function throws, the call ends with <see cref="StatusCode.Internal"/>, and the server logs the exception.
    /// The next call tries again.
    /// </remarks>
    public void Add<[DynamicallyAccessedMembers(ServiceBinding.Members)] TService>(
        Func<ShmActivationContext, TService> create,
        ShmServiceOptions? options = null,
        params Interceptor[] interceptors)
        where TService : class
    {
        ArgumentNullException.ThrowIfNull(create);
        Action<ServiceBinderBase, TService?> bind = ServiceBinding.FindBindService<TService>();
        AddActivated(
            create, builder => bind(new ActivatedServiceBinder<TService>(builder), null), options, interceptors);
    }

    /// <summary>
    /// Adds a service whose instances a function creates when calls need them, and whose methods are functions of the
    /// instance.
    /// </summary>
    /// <typeparam name="TService">The class of the service.</typeparam>
    /// <param name="create">
    /// Creates an instance, as in
    /// <see cref="Add{TService}(Func{ShmActivationContext, TService}, ShmServiceOptions, Interceptor[])"/>.
    /// </param>
    /// <param name="bind">Adds the methods. It is called once.</param>
    /// <param name="options">How instances live and run; null for an instance for each call.</param>
    /// <param name="interceptors">
    /// The interceptors of this service, as in
    /// <see cref="Add{TService}(Func{ShmActivationContext, TService}, ShmServiceOptions, Interceptor[])"/>.
    /// </param>
    /// <exception cref="ArgumentNullException">
    /// A function, the array of interceptors or one of them is null.
    /// </exception>
    /// <exception cref="ArgumentException">
    /// The binding adds no method or two of one name, or an option is not allowed; the message says what is.
    /// </exception>
    /// <exception cref="InvalidOperationException">
    /// The server was already started, or a channel was created with the options.
    /// </exception>
    public void Add<TService>(
        Func<ShmActivationContext, TService> create,
        Action<ShmServiceBinder<TService>> bind,
        ShmServiceOptions? options = null,
        params Interceptor[] interceptors)
        where TService : class
    {
        ArgumentNullException.ThrowIfNull(create);
        ArgumentNullException.ThrowIfNull(bind);
        AddActivated(create, builder => bind(new ShmServiceBinder<TService>(builder)), options, interceptors);
    }

    /// <summary>Adds a method to the services; a binder calls this.</summary>
    /// <typeparam name="TRequest">The type of the requests.</typeparam>
    /// <typeparam name="TResponse">The type of the responses.</typeparam>
    /// <param name="method">The method.</param>
    /// <param name="handler">The code of the method; null for a method that is not served.</param>
    /// <exception cref="ArgumentNullException">The method is null.</exception>
    /// <exception cref="InvalidOperationException">
    /// The server was already started, or a channel was created with the options.
    /// </exception>
    /// <remarks>
    /// A second method of the same name is refused when the server starts or the channel is created, not here: some
    /// binders go on after an exception.
    /// </remarks>
    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler) =>
        Bind(method, builder => builder.AddMethod(method, handler!));

    /// <inheritdoc/>
    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
        Bind(method, builder => builder.AddMethod(method, handler!));

    /// <inheritdoc/>
    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
        Bind(method, builder => builder.AddMethod(method, handler!));

    /// <inheritdoc/>
    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
        Bind(method, builder => builder.AddMethod(method, handler!));

    /// <inheritdoc/>
    public IEnumerator<ServerServiceDefinition> GetEnumerator() => _definitions.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Lets nothing more be added to the options of a channel, which would not see it.</summary>
    internal void Freeze(string channelAddress) => _channelAddress ??= channelAddress;

    private void AddActivated<TService>(
        Func<ShmActivationContext, TService> create,
        Action<ActivatedServiceBuilder<TService>> bind,
        ShmServiceOptions? options,
        Interceptor[] interceptors)
        where TService : class
    {
        ThrowIfNotAddable(interceptors);
        options ??= new ShmServiceOptions();
        InstanceSettings settings = options.ToInstanceSettings(isOfServer: _server is not null);
        var builder = new ActivatedServiceBuilder<TService>(new ServiceActivation<TService>(settings, (session, call) =>
        {
            var context = new ShmActivationContext((ShmSession?)session, call);
            try
            {
                return new ActivationResult<TService>(create(context), context.Release);
            }
            catch (Exception exception)
            {
                return new ActivationResult<TService>(Service: null, context.Release, exception);
            }
        }));
        bind(builder);
        (ServerServiceDefinition service, IReadOnlyCollection<string> names) = builder.Build();
        _definitions.Add(InterceptingBinder.Intercept(service, interceptors));
        HasInstanceLimits |= settings.MaxCalls is not null;
        if (options.EnableOrderedDispatch)
        {
            _orderedMethods.UnionWith(names);
        }
    }

    private void ThrowIfNotAddable(Interceptor[] interceptors)
    {
        ArgumentNullException.ThrowIfNull(interceptors);
        foreach (Interceptor interceptor in interceptors)
        {
            ArgumentNullException.ThrowIfNull(interceptor, nameof(interceptors));
        }

        CheckNotStarted();
    }

    private void Bind(IMethod method, Action<ServerServiceDefinition.Builder> bind)
    {
        ArgumentNullException.ThrowIfNull(method);
        CheckNotStarted();

        // Each has a definition of its own, because a builder refuses a second method of one name at once.
        ServerServiceDefinition.Builder builder = ServerServiceDefinition.CreateBuilder();
        bind(builder);
        _definitions.Add(builder.Build());
    }

    private void CheckNotStarted()
    {
        if (_channelAddress is not null)
        {
            throw new InvalidOperationException(
                $"A channel to {_channelAddress} was created with these options already; callback services are added "
                + "before. For another channel create other options.");
        }

        if (_server is { IsStarted: true })
        {
            throw new InvalidOperationException(
                $"The server at {_server.Address} was started already; services are added before.");
        }
    }
}
