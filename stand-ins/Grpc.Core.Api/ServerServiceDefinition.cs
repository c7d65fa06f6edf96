namespace Grpc.Core;

/// <summary>
/// The methods of a service with their handlers. The generic types of each are kept in a closure that repeats the
/// addition on any binder, so the definition itself needs no reflection.
/// </summary>
public class ServerServiceDefinition
{
    private readonly List<Action<ServiceBinderBase>> _additions;

    internal ServerServiceDefinition(List<Action<ServiceBinderBase>> additions)
    {
        _additions = additions;
    }

    public static Builder CreateBuilder() => new();

    public void BindService(ServiceBinderBase serviceBinder)
    {
        foreach (var add in _additions)
        {
            add(serviceBinder);
        }
    }

    public class Builder
    {
        private readonly Dictionary<string, IMethod> _methods = [];
        private readonly List<Action<ServiceBinderBase>> _additions = [];

        public Builder AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method,
            UnaryServerMethod<TRequest, TResponse> handler)
            where TRequest : class
            where TResponse : class =>
            Add(method, binder => binder.AddMethod(method, handler));

        public Builder AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method,
            ClientStreamingServerMethod<TRequest, TResponse> handler)
            where TRequest : class
            where TResponse : class =>
            Add(method, binder => binder.AddMethod(method, handler));

        public Builder AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method,
            ServerStreamingServerMethod<TRequest, TResponse> handler)
            where TRequest : class
            where TResponse : class =>
            Add(method, binder => binder.AddMethod(method, handler));

        public Builder AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method,
            DuplexStreamingServerMethod<TRequest, TResponse> handler)
            where TRequest : class
            where TResponse : class =>
            Add(method, binder => binder.AddMethod(method, handler));

        // The definition is a view of this builder's list, not a copy: what is added later shows up in it too.
        public ServerServiceDefinition Build() => new(_additions);

        // A full name that is there already is the dictionary's ArgumentException.
        private Builder Add(IMethod method, Action<ServiceBinderBase> addition)
        {
            _methods.Add(method.FullName, method);
            _additions.Add(addition);
            return this;
        }
    }
}
