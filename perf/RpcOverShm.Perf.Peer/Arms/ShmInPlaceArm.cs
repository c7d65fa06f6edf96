using Grpc.Core;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The same as <see cref="ShmProtobufArm"/>, but messages of one record are parsed where the other side wrote them.
/// </summary>
internal sealed class ShmInPlaceArm : CallsArm
{
    public override string Name => "shm-protobuf-in-place";

    protected override Task<string> ServeAsync(ServerServiceDefinition service, string place) =>
        ShmProtobufArm.StartServerAsync(service, place, parsesInPlace: true);

    protected override ChannelBase MakeChannel(string place) => ShmProtobufArm.OpenChannel(place, parsesInPlace: true);
}
