using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using Grpc.Core;

namespace RpcOverShm.Servers;

/// <summary>
/// Binds a service without an instance. Each bound method is found once, by its name and parameter types, as a delegate
/// whose first argument is the instance.
/// </summary>
internal sealed class ActivatedServiceBinder<[DynamicallyAccessedMembers(ServiceBinding.Members)] TService>(
    ActivatedServiceBuilder<TService> builder)
    : ServiceBinderBase
    where TService : class
{
    /// <summary>
    /// Returns a delegate of a method of the service. If a class hides a method of its base class, this is the method
    /// of the base class, as in generated code. An override still runs, because the delegate calls virtually.
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
        builder.Add(method, Find<Func<TService, TRequest, ServerCallContext, Task<TResponse>>>(
            method.Name, method.FullName, typeof(TRequest), typeof(ServerCallContext)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
        builder.Add(
            method,
            Find<Func<TService, IAsyncStreamReader<TRequest>, ServerCallContext, Task<TResponse>>>(
                method.Name, method.FullName, typeof(IAsyncStreamReader<TRequest>), typeof(ServerCallContext)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
        builder.Add(
            method,
            Find<Func<TService, TRequest, IServerStreamWriter<TResponse>, ServerCallContext, Task>>(
                method.Name,
                method.FullName,
                typeof(TRequest),
                typeof(IServerStreamWriter<TResponse>),
                typeof(ServerCallContext)));

    public override void AddMethod<TRequest, TResponse>(
        Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
        builder.Add(
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
