using Grpc.Core;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// Takes the methods of a service whose instances a function creates, each as a function of the instance. For
/// services that no generated class describes, such as the interfaces of protobuf-net.Grpc.
/// </summary>
/// <typeparam name="TService">The class of the service.</typeparam>
/// <remarks>
/// A <see cref="ShmServiceCollection"/> passes it to the function that binds such a service; it is used before that
/// returns. Not thread-safe. Nothing to dispose.
/// </remarks>
public sealed class ShmServiceBinder<TService>
    where TService : class
{
    private readonly ActivatedServiceBuilder<TService> _builder;

    internal ShmServiceBinder(ActivatedServiceBuilder<TService> builder) => _builder = builder;

    /// <summary>Adds a method with one request and one response.</summary>
    /// <typeparam name="TRequest">The type of the requests.</typeparam>
    /// <typeparam name="TResponse">The type of the responses.</typeparam>
    /// <param name="method">The method.</param>
    /// <param name="handler">The code of the method. The first argument is the instance that the call uses.</param>
    /// <exception cref="ArgumentNullException">The method or its code is null.</exception>
    /// <exception cref="InvalidOperationException">The function that binds the service has returned.</exception>
    /// <remarks>
    /// A second method of the same name is refused when the function that binds the service has returned, not here:
    /// some binders go on after an exception.
    /// </remarks>
    public void AddUnaryMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, Func<TService, TRequest, ServerCallContext, Task<TResponse>> handler)
        where TRequest : class
        where TResponse : class =>
        _builder.Add(method, handler);

    /// <summary>Adds a method with a stream of requests and one response.</summary>
    /// <inheritdoc cref="AddUnaryMethod{TRequest, TResponse}"/>
    public void AddClientStreamingMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>> handler)
        where TRequest : class
        where TResponse : class =>
        _builder.Add(method, handler);

    /// <summary>Adds a method with one request and a stream of responses.</summary>
    /// <inheritdoc cref="AddUnaryMethod{TRequest, TResponse}"/>
    public void AddServerStreamingMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task> handler)
        where TRequest : class
        where TResponse : class =>
        _builder.Add(method, handler);

    /// <summary>Adds a method with a stream of requests and a stream of responses.</summary>
    /// <inheritdoc cref="AddUnaryMethod{TRequest, TResponse}"/>
    public void AddDuplexStreamingMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, IAsyncStreamReader<TRequest>, IServerStreamWriter<TResponse>, ServerCallContext, Task> handler)
        where TRequest : class
        where TResponse : class =>
        _builder.Add(method, handler);
}
