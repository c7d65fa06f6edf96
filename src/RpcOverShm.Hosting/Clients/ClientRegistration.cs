using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Calls;

namespace RpcOverShm.Hosting.Clients;

/// <summary>The parts of one client that its builder has collected. Read when clients are created.</summary>
internal sealed class ClientRegistration
{
    private ClientRegistration(
        string name, ClientAddress address, Type clientType, Func<IServiceProvider, CallInvoker, object> create)
    {
        Name = name;
        Address = address;
        ClientType = clientType;
        Create = create;
    }

    public string Name { get; }

    public ClientAddress Address { get; }

    public Type ClientType { get; }

    /// <summary>Creates a client.</summary>
    public Func<IServiceProvider, CallInvoker, object> Create { get; }

    /// <summary>Return what keeps a client or an interceptor from being created; null for nothing.</summary>
    public List<Func<Dependencies, string?>> Problems { get; } = [];

    /// <summary>The interceptors that all clients share, the outermost first.</summary>
    public List<Func<IServiceProvider, Interceptor>> ChannelInterceptors { get; } = [];

    /// <summary>The interceptors that each client has for itself, the outermost first.</summary>
    public List<Func<IServiceProvider, Interceptor>> ClientInterceptors { get; } = [];

    /// <summary>The changes of the options of each call, in this order.</summary>
    public List<Func<CallOptions, IServiceProvider, CallOptions>> CallOptions { get; } = [];

    /// <summary>The way in which calls take over the current call of a server; null if they do not.</summary>
    public ShmCallContextPropagationOptions? Propagation { get; set; }

    /// <exception cref="ArgumentException">The type has no constructor for a client.</exception>
    public static ClientRegistration Of<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TClient>(
        string name, ClientAddress address)
        where TClient : class
    {
        try
        {
            ObjectFactory<TClient> create = ActivatorUtilities.CreateFactory<TClient>([typeof(CallInvoker)]);
            return new ClientRegistration(
                name, address, typeof(TClient), (provider, invoker) => create(provider, [invoker]))
            {
                Problems = { static dependencies => dependencies.Problem(typeof(TClient), typeof(CallInvoker)) },
            };
        }
        catch (InvalidOperationException exception)
        {
            throw new ArgumentException(
                $"{typeof(TClient)} is not a client: it has no public constructor that takes a CallInvoker. Take the "
                + "class that Grpc.Tools generates, such as Greeter.GreeterClient.",
                exception);
        }
    }
}
