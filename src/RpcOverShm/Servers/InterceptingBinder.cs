using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Servers;

/// <summary>
/// Builds a service whose methods run inside interceptors, by binding the original service to this binder.
/// Grpc.Core.Api defines interceptors, but cannot apply them to a service definition.
/// </summary>
internal sealed class InterceptingBinder : ServiceBinderBase
{
    private readonly ServerServiceDefinition.Builder _result = ServerServiceDefinition.CreateBuilder();
    private readonly IReadOnlyList<Interceptor> _innermostFirst;

    private InterceptingBinder(IEnumerable<Interceptor> interceptors) => _innermostFirst = [.. interceptors.Reverse()];

    /// <summary>Returns a service with interceptors, the outermost first, around each method.</summary>
    public static ServerServiceDefinition Intercept(
        ServerServiceDefinition service, IReadOnlyCollection<Interceptor> interceptors)
    {
        if (interceptors.Count == 0)
        {
            return service;
        }

        var binder = new InterceptingBinder(interceptors);
        service.AddTo(binder);
        return binder._result.Build();
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler) =>
        _result.AddMethod(method, Around(handler, static (inner, interceptor) =>
            (request, context) => interceptor.UnaryServerHandler(request, context, inner)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
        _result.AddMethod(method, Around(handler, static (inner, interceptor) =>
            (requests, context) => interceptor.ClientStreamingServerHandler(requests, context, inner)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
        _result.AddMethod(method, Around(handler, static (inner, interceptor) =>
            (request, responses, context) =>
                interceptor.ServerStreamingServerHandler(request, responses, context, inner)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
        _result.AddMethod(method, Around(handler, static (inner, interceptor) =>
            (requests, responses, context) =>
                interceptor.DuplexStreamingServerHandler(requests, responses, context, inner)));

    // A method that was bound without a handler stays without one.
    private T Around<T>(T? handler, Func<T, Interceptor, T> wrap)
        where T : class => handler is null ? null! : _innermostFirst.Aggregate(handler, wrap);
}
