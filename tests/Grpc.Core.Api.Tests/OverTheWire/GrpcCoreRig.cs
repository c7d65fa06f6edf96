using Grpc.Core.Interceptors;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>
/// A server and a channel of Grpc.Core, the C core included, that talk over a real socket and stand on the stand-in. A
/// test brings its own handlers.
/// </summary>
internal sealed class GrpcCoreRig : IAsyncDisposable
{
    private readonly Server _server;
    private readonly Channel _channel;

    private GrpcCoreRig(Server server, Channel channel)
    {
        _server = server;
        _channel = channel;
        Invoker = channel.CreateCallInvoker();
    }

    internal CallInvoker Invoker { get; }

    internal ChannelBase Channel => _channel;

    internal static GrpcCoreRig Start(
        Action<ServerServiceDefinition.Builder> addMethods,
        params Interceptor[] serverInterceptors)
    {
        var server = CreateServer(addMethods, serverInterceptors);
        server.Ports.Add(new ServerPort("127.0.0.1", ServerPort.PickUnused, ServerCredentials.Insecure));
        server.Start();
        return new GrpcCoreRig(server, new Channel("127.0.0.1", BoundPort(server), ChannelCredentials.Insecure));
    }

    /// <summary>The certificates are for localhost, whatever the address.</summary>
    internal static GrpcCoreRig StartSecure(
        Action<ServerServiceDefinition.Builder> addMethods,
        ServerCredentials serverCredentials,
        ChannelCredentials channelCredentials)
    {
        var server = CreateServer(addMethods);
        server.Ports.Add(new ServerPort("127.0.0.1", ServerPort.PickUnused, serverCredentials));
        server.Start();
        var name = new ChannelOption(ChannelOptions.SslTargetNameOverride, "localhost");
        return new GrpcCoreRig(server, new Channel("127.0.0.1", BoundPort(server), channelCredentials, [name]));
    }

    internal static GrpcCoreRig StartOnUnixSocket(Action<ServerServiceDefinition.Builder> addMethods, string path)
    {
        var server = CreateServer(addMethods);
        server.Ports.Add(new ServerPort("unix:" + path, 0, ServerCredentials.Insecure));
        server.Start();
        // Grpc.Core appends the port to every address, so that is where this server listens.
        return new GrpcCoreRig(server, new Channel($"unix:{path}:0", ChannelCredentials.Insecure));
    }

    /// <summary>For a test whose call has no time to spend on connecting.</summary>
    internal Task ConnectAsync() => _channel.ConnectAsync().Bounded();

    public async ValueTask DisposeAsync()
    {
        await _channel.ShutdownAsync().Bounded();
        // Not the graceful way, which would wait for the handler of a test that has failed.
        await _server.KillAsync().Bounded();
    }

    private static Server CreateServer(
        Action<ServerServiceDefinition.Builder> addMethods,
        params Interceptor[] interceptors)
    {
        var builder = ServerServiceDefinition.CreateBuilder();
        addMethods(builder);
        return new Server { Services = { builder.Build().Intercept(interceptors) } };
    }

    private static int BoundPort(Server server) => server.Ports.Single().BoundPort;
}
