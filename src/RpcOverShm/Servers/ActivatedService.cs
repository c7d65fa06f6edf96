using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Builds a service whose instances are made when calls need them, by binding it to this binder without an instance. A
/// method is found once, by its name and types, as a delegate that takes the instance.
/// </summary>
internal sealed class ActivatedService<[DynamicallyAccessedMembers(ServiceBinding.Members)] TService>
    : ServiceBinderBase
    where TService : class
{
    private readonly ServerServiceDefinition.Builder _result = ServerServiceDefinition.CreateBuilder();
    private readonly List<string> _methods = [];
    private readonly ServiceActivation<TService> _activation;

    private ActivatedService(ServiceActivation<TService> activation) => _activation = activation;

    /// <summary>Returns the definition of a service, and the full names of its methods.</summary>
    /// <exception cref="ArgumentException">A method does not exist, or the service has none.</exception>
    public static (ServerServiceDefinition Definition, IReadOnlyList<string> Methods) Of(
        ServiceActivation<TService> activation, Action<ServiceBinderBase, TService?> bind)
    {
        var binder = new ActivatedService<TService>(activation);
        bind(binder, null);
        return binder._methods.Count > 0
            ? (binder._result.Build(), binder._methods)
            : throw new ArgumentException($"The binding of {typeof(TService)} adds no method.", nameof(bind));
    }

    /// <summary>
    /// Returns a delegate of the service's method. If a class hides a method of its base class, that of the base is
    /// taken, which the generated code binds too; an override runs because the delegate's call is a virtual one.
    /// </summary>
    public static T Find<T>(string name, string fullName, params Type[] parameters)
        where T : Delegate
    {
        MethodInfo? best = null;
        foreach (MethodInfo one in typeof(TService).GetMethods(BindingFlags.Public | BindingFlags.Instance))
        {
            if (one.Name == name
                && !one.IsGenericMethod
                && one.GetParameters().Select(parameter => parameter.ParameterType).SequenceEqual(parameters)
                && (best is null || IsBaseOf(one, best)))
            {
                best = one;
            }
        }

        if (best is null || !typeof(T).GetGenericArguments()[^1].IsAssignableFrom(best.ReturnType))
        {
            throw new ArgumentException(
                $"{typeof(TService)} has no public method for {fullName}: a method {name} "
                + $"with the parameters {string.Join(", ", parameters.Select(type => type.Name))}.");
        }

        return best.CreateDelegate<T>();
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler)
    {
        var run = Use<Func<TService, TRequest, ServerCallContext, Task<TResponse>>>(
            method, typeof(TRequest), typeof(ServerCallContext));
        ServiceActivation<TService> activation = _activation;
        UnaryServerMethod<TRequest, TResponse> served = (request, context) =>
            activation.RunAsync(context, service => run(service, request, context));
        _result.AddMethod(method, served);
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler)
    {
        var run = Use<Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>>>(
            method, typeof(IAsyncStreamReader<TRequest>), typeof(ServerCallContext));
        ServiceActivation<TService> activation = _activation;
        ClientStreamingServerMethod<TRequest, TResponse> served = (requests, context) =>
            activation.RunAsync(context, service => run(service, requests, context));
        _result.AddMethod(method, served);
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler)
    {
        var run = Use<Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task>>(
            method, typeof(TRequest), typeof(IServerStreamWriter<TResponse>), typeof(ServerCallContext));
        ServiceActivation<TService> activation = _activation;
        ServerStreamingServerMethod<TRequest, TResponse> served = (request, responses, context) =>
            activation.RunAsync(context, service => run(service, request, responses, context));
        _result.AddMethod(method, served);
    }

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler)
    {
        var run = Use<
            Func<TService, IAsyncStreamReader<TRequest>, IServerStreamWriter<TResponse>, ServerCallContext, Task>>(
            method,
            typeof(IAsyncStreamReader<TRequest>),
            typeof(IServerStreamWriter<TResponse>),
            typeof(ServerCallContext));
        ServiceActivation<TService> activation = _activation;
        DuplexStreamingServerMethod<TRequest, TResponse> served = (requests, responses, context) =>
            activation.RunAsync(context, service => run(service, requests, responses, context));
        _result.AddMethod(method, served);
    }

    private T Use<T>(IMethod method, params Type[] parameters)
        where T : Delegate
    {
        T run = Find<T>(method.Name, method.FullName, parameters);
        _methods.Add(method.FullName);
        return run;
    }

    private static bool IsBaseOf(MethodInfo one, MethodInfo other) =>
        one.GetBaseDefinition().DeclaringType!.IsAssignableFrom(other.GetBaseDefinition().DeclaringType);
}
