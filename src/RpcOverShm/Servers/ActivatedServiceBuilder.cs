using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Builds a service whose instances are made when calls need them, from methods that take the instance. Not
/// thread-safe.
/// </summary>
internal sealed class ActivatedServiceBuilder<TService>(ServiceActivation<TService> activation)
    where TService : class
{
    private readonly ServerServiceDefinition.Builder _result = ServerServiceDefinition.CreateBuilder();
    private readonly HashSet<string> _names = [];
    private string? _duplicateName; // the name of two methods; null for none
    private bool _isBuilt;

    /// <summary>Returns the definition of the service, and the full names of its methods.</summary>
    /// <exception cref="ArgumentException">The service has no method, or two of one name.</exception>
    public (ServerServiceDefinition Definition, IReadOnlyCollection<string> Methods) Build()
    {
        _isBuilt = true;
        if (_names.Count == 0)
        {
            throw new ArgumentException($"The binding of {typeof(TService)} adds no method.");
        }

        if (_duplicateName is not null)
        {
            throw new ArgumentException($"The binding of {typeof(TService)} adds {_duplicateName} twice.");
        }

        return (_result.Build(), _names);
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method, Func<TService, TRequest, ServerCallContext, Task<TResponse>> handler)
        where TRequest : class
        where TResponse : class
    {
        UnaryServerMethod<TRequest, TResponse> served = (request, context) =>
            activation.RunAsync(context, service => handler(service, request, context));
        if (TryAddName(method, handler))
        {
            _result.AddMethod(method, served);
        }
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>> handler)
        where TRequest : class
        where TResponse : class
    {
        ClientStreamingServerMethod<TRequest, TResponse> served = (requests, context) =>
            activation.RunAsync(context, service => handler(service, requests, context));
        if (TryAddName(method, handler))
        {
            _result.AddMethod(method, served);
        }
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task> handler)
        where TRequest : class
        where TResponse : class
    {
        ServerStreamingServerMethod<TRequest, TResponse> served = (request, responses, context) =>
            activation.RunAsync(context, service => handler(service, request, responses, context));
        if (TryAddName(method, handler))
        {
            _result.AddMethod(method, served);
        }
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, IAsyncStreamReader<TRequest>, IServerStreamWriter<TResponse>, ServerCallContext, Task> handler)
        where TRequest : class
        where TResponse : class
    {
        DuplexStreamingServerMethod<TRequest, TResponse> served = (requests, responses, context) =>
            activation.RunAsync(context, service => handler(service, requests, responses, context));
        if (TryAddName(method, handler))
        {
            _result.AddMethod(method, served);
        }
    }

    // A second method of the same name is refused when the service is built, because some binders catch the exception.
    private bool TryAddName(IMethod method, Delegate handler)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(handler);
        if (_isBuilt)
        {
            throw new InvalidOperationException(
                $"{method.FullName} was added after the service was built. Add methods before the function that "
                + "binds the service returns.");
        }

        bool isNew = _names.Add(method.FullName);
        _duplicateName ??= isNew ? null : method.FullName;
        return isNew;
    }
}
