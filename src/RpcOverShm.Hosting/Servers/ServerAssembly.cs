using System.Runtime.CompilerServices;
using Grpc.Core;
using Grpc.Core.Interceptors;
using Grpc.Health.V1;
using Grpc.Reflection;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.HealthChecks;
using FormerReflection = Grpc.Reflection.V1Alpha.ServerReflection;
using ServiceDescriptor = Google.Protobuf.Reflection.ServiceDescriptor;

namespace RpcOverShm.Hosting.Servers;

/// <summary>Creates the server of a registration, with its services and their interceptors.</summary>
internal sealed class ServerAssembly
{
    private readonly IServiceProvider _provider;
    private readonly ServerRegistration _registration;
    private readonly ShmServer _server;

    private ServerAssembly(IServiceProvider provider, ServerRegistration registration, ShmServer server)
    {
        _provider = provider;
        _registration = registration;
        _server = server;
    }

    /// <exception cref="OptionsValidationException">An option of the server is not allowed.</exception>
    /// <exception cref="ArgumentException">An option of a service is not allowed.</exception>
    /// <exception cref="InvalidOperationException">
    /// An interceptor is for a service that is not there, or the container lacks what one of them needs.
    /// </exception>
    public static ShmServer Create(IServiceProvider provider, ServerRegistration registration)
    {
        ShmServerOptions options = provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(registration.Name);
        var server = new ShmServer(registration.Address, options);
        var assembly = new ServerAssembly(provider, registration, server);
        assembly.CheckInterceptors();
        assembly.CheckDependencies();
        foreach (ServiceEntry service in registration.Services)
        {
            service.Add(assembly.Target(service.Type));
        }

        assembly.AddHealth();
        assembly.AddReflection();
        return server;
    }

    private void CheckInterceptors()
    {
        foreach (InterceptorEntry entry in _registration.Interceptors)
        {
            if (entry.Service is not null && !_registration.Services.Exists(one => one.Type == entry.Service))
            {
                throw new InvalidOperationException(
                    $"The server '{_registration.Name}' has the interceptor {entry.Type} for the service "
                    + $"{entry.Service}, but not that service. Add the service.");
            }
        }
    }

    // The container itself would tell at the first call.
    private void CheckDependencies()
    {
        var dependencies = new Dependencies(_registration.Container, _provider);
        IEnumerable<string?> problems = _registration.Services
            .Select(one => one.Problem(dependencies))
            .Concat(_registration.Interceptors.Select(one => one.Problem(dependencies)));
        if (problems.FirstOrDefault(one => one is not null) is { } problem)
        {
            throw new InvalidOperationException($"The server '{_registration.Name}' cannot serve calls: {problem}");
        }
    }

    private ServiceTarget Target(Type? service)
    {
        InterceptorEntry[] entries =
            [.. _registration.Interceptors.Where(one => one.Service is null || one.Service == service)];
        bool hasCallScope = Array.Exists(entries, one => !_registration.IsSingleton(one.Type));
        IEnumerable<Interceptor> interceptors = hasCallScope
            ? [new CallInterceptors(_provider.GetRequiredService<IServiceScopeFactory>(), entries)]
            : entries.Select(one => one.Activate(_provider).Interceptor);

        // Outside of the others, because they may make calls too.
        Interceptor? current = _provider.GetService<CurrentCallInterceptor>();
        return new ServiceTarget(
            _provider,
            _server.Services,
            [.. current is null ? interceptors : interceptors.Prepend(current)],
            hasCallScope);
    }

    private void AddHealth()
    {
        if (_registration.Health is not { } options)
        {
            return;
        }

        var names = new ServiceNames();
        foreach (ServerServiceDefinition service in _server.Services)
        {
            AddMethods(service, names);
        }

        var health = new HostHealthService(
            _provider.GetRequiredService<HealthCheckService>(),
            HealthMapping.All(
                options, names.Names, _provider.GetRequiredService<IOptions<HealthCheckServiceOptions>>().Value),
            _server.Stopping);
        _provider.GetRequiredService<HealthPublisher>().Add(health);
        _server.Services.Add(Health.BindService(health), Target(service: null).Interceptors);
    }

    private void AddReflection()
    {
        if (!_registration.HasReflection)
        {
            return;
        }

        ServiceDescriptor?[] known =
        [
            .. _registration.Services.Select(one => one.Descriptor),
            .. _registration.Descriptors,
            _registration.Health is null ? null : Health.Descriptor,
            ReflectionV1.Descriptor,
        ];
        ServiceDescriptor[] descriptors = [.. known.OfType<ServiceDescriptor>().DistinctBy(one => one.FullName)];
        Interceptor[] interceptors = Target(service: null).Interceptors;

        // Version 1, and the one before it, which many tools ask for first.
        var reflection = new ReflectionServiceImpl(descriptors);
        _server.Services.Add(ReflectionV1.Of(reflection), interceptors);
        _server.Services.Add(FormerReflection.BindService(reflection), interceptors);
    }

    // ServerServiceDefinition.BindService is public since Grpc.Core.Api 2.80. Older versions have it as an internal
    // method; the package works with those too.
    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "BindService")]
    private static extern void AddMethods(ServerServiceDefinition service, ServiceBinderBase names);

    /// <summary>Collects the names of services from their methods.</summary>
    private sealed class ServiceNames : ServiceBinderBase
    {
        public SortedSet<string> Names { get; } = new(StringComparer.Ordinal);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler) =>
            Names.Add(method.ServiceName);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
            Names.Add(method.ServiceName);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
            Names.Add(method.ServiceName);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
            Names.Add(method.ServiceName);
    }
}
