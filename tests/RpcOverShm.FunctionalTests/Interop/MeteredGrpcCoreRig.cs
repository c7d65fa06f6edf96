using System.Net;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>Grpc.Core with a counting relay between channel and server.</summary>
internal sealed class MeteredGrpcCoreRig : MeteredRig
{
    private const string Host = "127.0.0.1";

    private readonly Server _server;
    private readonly CountingRelay _relay;
    private readonly Channel _channel;

    private MeteredGrpcCoreRig(Server server)
    {
        _server = server;
        _relay = new CountingRelay(
            new IPEndPoint(IPAddress.Loopback, 0), new IPEndPoint(IPAddress.Loopback, server.Ports.Single().BoundPort));
        _channel = new Channel(_relay.EndPoint.ToString(), ChannelCredentials.Insecure);
    }

    public override ChannelBase Channel => _channel;

    public override long RequestBytes => _relay.UpBytes;

    public override long ResponseBytes => _relay.DownBytes;

    public static Task<MeteredGrpcCoreRig> StartAsync(ServerServiceDefinition service)
    {
        var server = new Server([new ChannelOption("grpc.so_reuseport", 0)]);
        server.Services.Add(service);
        server.Ports.Add(new ServerPort(Host, ServerPort.PickUnused, ServerCredentials.Insecure));
        server.Start();
        return Task.FromResult(new MeteredGrpcCoreRig(server));
    }

    public override async ValueTask DisposeAsync()
    {
        await _channel.ShutdownAsync().Bounded();
        await _server.KillAsync().Bounded();
        await _relay.DisposeAsync();
    }
}
