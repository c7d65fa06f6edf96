namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A gRPC implementation: its server, and its channel. Messages may have any size.</summary>
internal abstract class CallsTransport
{
    /// <summary>Starts a server, which lives as long as the process.</summary>
    /// <returns>The place for <see cref="OpenChannel"/>.</returns>
    public abstract Task<string> ServeAsync(CallsService service, string place);

    public abstract ChannelBase OpenChannel(string place);
}

/// <summary>
/// The former implementation of gRPC: Grpc.Core, the C core included, over a Unix domain socket, with default options.
/// </summary>
internal sealed class GrpcCoreTransport : CallsTransport
{
    private static readonly ChannelOption s_anySize = new(ChannelOptions.MaxReceiveMessageLength, -1);

    public override Task<string> ServeAsync(CallsService service, string place)
    {
        string address = "unix:" + place;
        var port = new ServerPort(address, 0, ServerCredentials.Insecure);
        var server = new Server([s_anySize]) { Services = { service.Bind() }, Ports = { port } };
        server.Start();

        // Grpc.Core appends the port to every address, so that is where this server listens.
        return Task.FromResult(address + ":0");
    }

    public override ChannelBase OpenChannel(string place) =>
        new Channel(place, ChannelCredentials.Insecure, [s_anySize]);
}
