using System.Collections;
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
    private readonly List<ServerServiceDefinition> _definitions = [];

    internal ShmServiceCollection(ShmServer? server = null) => _server = server;

    /// <summary>Gets the number of services that were added, plus that of methods that a binder added.</summary>
    public int Count => _definitions.Count;

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
    /// <exception cref="InvalidOperationException">The server was already started.</exception>
    public void Add(ServerServiceDefinition service, params Interceptor[] interceptors)
    {
        ArgumentNullException.ThrowIfNull(service);
        ArgumentNullException.ThrowIfNull(interceptors);
        foreach (Interceptor interceptor in interceptors)
        {
            ArgumentNullException.ThrowIfNull(interceptor, nameof(interceptors));
        }

        CheckNotStarted();
        _definitions.Add(InterceptedService.Of(service, interceptors));
    }

    /// <summary>Adds a method to the services; a binder calls this.</summary>
    /// <typeparam name="TRequest">The type of the requests.</typeparam>
    /// <typeparam name="TResponse">The type of the responses.</typeparam>
    /// <param name="method">The method.</param>
    /// <param name="handler">The code of the method; null for a method that is not served.</param>
    /// <exception cref="ArgumentNullException">The method is null.</exception>
    /// <exception cref="InvalidOperationException">The server was already started.</exception>
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
        if (_server is { IsStarted: true })
        {
            throw new InvalidOperationException(
                $"The server at {_server.Address} was started already; services are added before.");
        }
    }
}
