using Grpc.Core;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The same as <see cref="ShmProtobufArm"/>, but messages of one record are parsed where the other side wrote them.
/// </summary>
internal sealed class ShmInPlaceArm : CallsArm
{
    public override string Name => "shm-protobuf-in-place";

    public override Task<string> ServeAsync(string place) =>
        ShmProtobufArm.StartServerAsync(Bind(), place, parsesInPlace: true);

    protected override ChannelBase MakeChannel(string place) => ShmProtobufArm.OpenChannel(place, parsesInPlace: true);
}
