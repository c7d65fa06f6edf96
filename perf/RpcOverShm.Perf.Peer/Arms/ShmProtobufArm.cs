using Grpc.Core;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The product: <see cref="ShmChannel"/> and <see cref="ShmServer"/> with their default options.</summary>
internal sealed class ShmProtobufArm : CallsArm
{
    public override string Name => "shm-protobuf";

    protected override async Task<string> ServeAsync(ServerServiceDefinition service, string place)
    {
        var server = new ShmServer("shm://" + place);
        server.Services.Add(service);
        await server.StartAsync();
        return server.Address;
    }

    protected override ChannelBase MakeChannel(string place) => ShmChannel.ForAddress(place);
}
