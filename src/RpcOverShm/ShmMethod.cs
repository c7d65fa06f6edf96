using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>
/// Creates methods without marshallers, for services that no <c>.proto</c> file describes and whose messages a
/// <see cref="ShmCodec"/> serialises: classes with MessagePack attributes, raw bytes or those of a codec of one's own.
/// </summary>
/// <remarks>
/// <para>
/// Client and server create the same method and use it with <see cref="CallInvoker"/> and
/// <see cref="ServerServiceDefinition.Builder"/>. The channel needs a codec for the messages
/// (<see cref="ShmChannelOptions.Codec"/>), and the server must offer it (<see cref="ShmServerOptions.Codecs"/>).
/// Without a codec, a call throws <see cref="InvalidOperationException"/>, <see cref="ShmServer.StartAsync"/> throws
/// <see cref="ArgumentException"/>, and a call of a client without one fails with
/// <see cref="StatusCode.Unimplemented"/>. The codec of a callback is that of the client's channel, and the server
/// passes it to <see cref="ShmSession.CreateCallInvoker"/>. On a channel of another transport, the messages cannot be
/// serialised.
/// </para>
/// <para>
/// A channel keeps what it knows of a method while the object lives: create each method once, in a static field.
/// Thread-safe. Nothing to dispose.
/// </para>
/// </remarks>
public static class ShmMethod
{
    /// <summary>Creates a method with one request and one response.</summary>
    /// <typeparam name="TRequest">The type of the request.</typeparam>
    /// <typeparam name="TResponse">The type of the response.</typeparam>
    /// <param name="serviceName">The full name of the service, including its package: <c>greet.Greeter</c>.</param>
    /// <param name="name">The name of the method, without its service.</param>
    /// <returns>The method, which is immutable.</returns>
    /// <exception cref="ArgumentException">A name is null or empty, or contains a '/'.</exception>
    public static Method<TRequest, TResponse> Unary<TRequest, TResponse>(string serviceName, string name)
        where TRequest : class
        where TResponse : class =>
        Create<TRequest, TResponse>(MethodType.Unary, serviceName, name);

    /// <summary>Creates a method with a stream of requests and one response.</summary>
    /// <inheritdoc cref="Unary{TRequest, TResponse}"/>
    public static Method<TRequest, TResponse> ClientStreaming<TRequest, TResponse>(string serviceName, string name)
        where TRequest : class
        where TResponse : class =>
        Create<TRequest, TResponse>(MethodType.ClientStreaming, serviceName, name);

    /// <summary>Creates a method with one request and a stream of responses.</summary>
    /// <inheritdoc cref="Unary{TRequest, TResponse}"/>
    public static Method<TRequest, TResponse> ServerStreaming<TRequest, TResponse>(string serviceName, string name)
        where TRequest : class
        where TResponse : class =>
        Create<TRequest, TResponse>(MethodType.ServerStreaming, serviceName, name);

    /// <summary>Creates a method with a stream of requests and a stream of responses.</summary>
    /// <inheritdoc cref="Unary{TRequest, TResponse}"/>
    public static Method<TRequest, TResponse> DuplexStreaming<TRequest, TResponse>(string serviceName, string name)
        where TRequest : class
        where TResponse : class =>
        Create<TRequest, TResponse>(MethodType.DuplexStreaming, serviceName, name);

    /// <summary>Creates a method of any shape.</summary>
    /// <typeparam name="TRequest">The type of the request.</typeparam>
    /// <typeparam name="TResponse">The type of the response.</typeparam>
    /// <param name="shape">The shape of the method.</param>
    /// <param name="serviceName">The full name of the service, including its package: <c>greet.Greeter</c>.</param>
    /// <param name="name">The name of the method, without its service.</param>
    /// <returns>The method, which is immutable.</returns>
    /// <exception cref="ArgumentException">A name is null or empty, or contains a '/'.</exception>
    public static Method<TRequest, TResponse> Create<TRequest, TResponse>(
        MethodType shape, string serviceName, string name)
        where TRequest : class
        where TResponse : class
    {
        CheckName(serviceName, nameof(serviceName));
        CheckName(name, nameof(name));
        return new Method<TRequest, TResponse>(
            shape, serviceName, name, AbsentMarshaller<TRequest>.Instance, AbsentMarshaller<TResponse>.Instance);
    }

    private static void CheckName(string name, string parameter)
    {
        ArgumentException.ThrowIfNullOrEmpty(name, parameter);
        if (name.Contains('/', StringComparison.Ordinal))
        {
            throw new ArgumentException(
                $"The name '{name}' contains a '/', which stands between service and method.", parameter);
        }
    }
}
