using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>The Unix domain socket with records.</summary>
internal sealed class SocketRecordArm(RecordFormat format) : UnixSocketArm
{
    private readonly RecordStreams _records = new(format);

    public override string Name => $"uds-{format.Name}-record";

    public override bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    protected override IEcho MakeEcho(Stream stream) => _records.MakeEcho(stream);

    protected override Task ServeStreamAsync(Stream stream) => _records.ServeAsync(stream);
}
