using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>Three scalars.</summary>
internal sealed class TinyShape : RecordShape<TinyRecord>
{
    public override int PatternBytes => 16;

    public override TinyRecord Make(ReadOnlySpan<byte> pattern)
    {
        var from = new PatternReader(pattern);
        return new TinyRecord { Number = from.Number(), Kind = from.Int32(), Value = from.Double() };
    }

    public override void Flatten(TinyRecord record, Span<byte> pattern)
    {
        var to = new PatternWriter(pattern);
        to.Number(record.Number);
        to.Int32(record.Kind);
        to.Double(record.Value);
    }
}
