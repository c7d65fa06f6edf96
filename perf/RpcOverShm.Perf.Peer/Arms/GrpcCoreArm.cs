namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// gRPC as it ever was: Grpc.Core, the C core included, over a Unix domain socket, with its default options, but for
/// messages of any size.
/// </summary>
internal sealed class GrpcCoreArm : CallsArm
{
    private static readonly ChannelOption s_anySize = new(ChannelOptions.MaxReceiveMessageLength, -1);

    public override string Name => "grpc-core-uds";

    public override Task<string> ServeAsync(string place)
    {
        string address = "unix:" + place;
        var server = new Server([s_anySize])
        {
            Services = { Bind() },
            Ports = { new ServerPort(address, 0, ServerCredentials.Insecure) },
        };
        server.Start();

        // Grpc.Core appends the port to every address, so that is where this server listens.
        return Task.FromResult(address + ":0");
    }

    protected override ChannelBase MakeChannel(string place) =>
        new Channel(place, ChannelCredentials.Insecure, [s_anySize]);
}
