namespace Grpc.Core;

/// <summary>
/// Receives the methods of a service one by one. As in the package, the kind of method that a host does not override is
/// a NotImplementedException. Handlers are null where generated code binds a service only to describe it.
/// </summary>
public class ServiceBinderBase
{
    public virtual void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        UnaryServerMethod<TRequest, TResponse>? handler)
        where TRequest : class
        where TResponse : class =>
        throw new NotImplementedException();

    public virtual void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        ClientStreamingServerMethod<TRequest, TResponse>? handler)
        where TRequest : class
        where TResponse : class =>
        throw new NotImplementedException();

    public virtual void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        ServerStreamingServerMethod<TRequest, TResponse>? handler)
        where TRequest : class
        where TResponse : class =>
        throw new NotImplementedException();

    public virtual void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        DuplexStreamingServerMethod<TRequest, TResponse>? handler)
        where TRequest : class
        where TResponse : class =>
        throw new NotImplementedException();
}
