using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>The named pipe with records.</summary>
internal sealed class PipeRecordArm(RecordFormat format) : PipeArm
{
    private readonly RecordStreams _records = new(format);

    public override string Name => $"pipe-{format.Name}-record";

    public override bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    protected override IEcho MakeEcho(Stream stream) => _records.MakeEcho(stream);

    protected override Task ServeStreamAsync(Stream stream) => _records.ServeAsync(stream);
}
