using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Builds a service whose instances are made when calls need them, from methods that take the instance. Not
/// thread-safe.
/// </summary>
internal sealed class InstanceMethods<TService>(ServiceActivation<TService> activation)
    where TService : class
{
    private readonly ServerServiceDefinition.Builder _result = ServerServiceDefinition.CreateBuilder();
    private readonly List<string> _names = [];

    /// <summary>Returns the definition of the service, and the full names of its methods.</summary>
    /// <exception cref="ArgumentException">The service has no method.</exception>
    public (ServerServiceDefinition Definition, IReadOnlyList<string> Methods) Build() => _names.Count > 0
        ? (_result.Build(), _names)
        : throw new ArgumentException($"The binding of {typeof(TService)} adds no method.");

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method, Func<TService, TRequest, ServerCallContext, Task<TResponse>> run)
        where TRequest : class
        where TResponse : class
    {
        UnaryServerMethod<TRequest, TResponse> served = (request, context) =>
            activation.RunAsync(context, service => run(service, request, context));
        _result.AddMethod(method, served);
        _names.Add(method.FullName);
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>> run)
        where TRequest : class
        where TResponse : class
    {
        ClientStreamingServerMethod<TRequest, TResponse> served = (requests, context) =>
            activation.RunAsync(context, service => run(service, requests, context));
        _result.AddMethod(method, served);
        _names.Add(method.FullName);
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task> run)
        where TRequest : class
        where TResponse : class
    {
        ServerStreamingServerMethod<TRequest, TResponse> served = (request, responses, context) =>
            activation.RunAsync(context, service => run(service, request, responses, context));
        _result.AddMethod(method, served);
        _names.Add(method.FullName);
    }

    public void Add<TRequest, TResponse>(
        Method<TRequest, TResponse> method,
        Func<TService, IAsyncStreamReader<TRequest>, IServerStreamWriter<TResponse>, ServerCallContext, Task> run)
        where TRequest : class
        where TResponse : class
    {
        DuplexStreamingServerMethod<TRequest, TResponse> served = (requests, responses, context) =>
            activation.RunAsync(context, service => run(service, requests, responses, context));
        _result.AddMethod(method, served);
        _names.Add(method.FullName);
    }
}
