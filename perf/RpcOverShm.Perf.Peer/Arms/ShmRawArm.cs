using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The product with marshallers that hand arrays of bytes through: calls without a serialiser.</summary>
internal sealed class ShmRawArm : IArm
{
    public string Name => "shm-raw";

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo || (caller == CallerKind.Async && shape != LoadShape.Batch);

    public Task<string> ServeAsync(string place) => ShmProtobufArm.StartServerAsync(RawCalls.Bind(), place);

    public IArmClient MakeClient(string place) => new RawCallsClient(ShmProtobufArm.OpenChannel(place));
}
