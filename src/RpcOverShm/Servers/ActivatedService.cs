using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Finds the methods of a service that is bound to this binder without an instance: each once, by its name and types,
/// as a delegate that takes the instance.
/// </summary>
internal sealed class ActivatedService<[DynamicallyAccessedMembers(ServiceBinding.Members)] TService>(
    InstanceMethods<TService> methods)
    : ServiceBinderBase
    where TService : class
{
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
        Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler) =>
        methods.Add(method, Find<Func<TService, TRequest, ServerCallContext, Task<TResponse>>>(
            method.Name, method.FullName, typeof(TRequest), typeof(ServerCallContext)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
        methods.Add(
            method,
            Find<Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>>>(
                method.Name, method.FullName, typeof(IAsyncStreamReader<TRequest>), typeof(ServerCallContext)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
        methods.Add(
            method,
            Find<Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task>>(
                method.Name,
                method.FullName,
                typeof(TRequest),
                typeof(IServerStreamWriter<TResponse>),
                typeof(ServerCallContext)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
        methods.Add(
            method,
            Find<Func<
                TService, IAsyncStreamReader<TRequest>, IServerStreamWriter<TResponse>, ServerCallContext, Task>>(
                method.Name,
                method.FullName,
                typeof(IAsyncStreamReader<TRequest>),
                typeof(IServerStreamWriter<TResponse>),
                typeof(ServerCallContext)));

    private static bool IsBaseOf(MethodInfo one, MethodInfo other) =>
        one.GetBaseDefinition().DeclaringType!.IsAssignableFrom(other.GetBaseDefinition().DeclaringType);
}
