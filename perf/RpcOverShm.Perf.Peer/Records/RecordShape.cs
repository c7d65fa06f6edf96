namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// A kind of record that is made from a pattern and gives it back, so that every field of it is checked.
/// </summary>
/// <typeparam name="T">The message.</typeparam>
internal abstract class RecordShape<T>
    where T : class, IMessage<T>
{
    /// <summary>How many bytes of a pattern are in a record.</summary>
    public abstract int PatternBytes { get; }

    public abstract T Make(ReadOnlySpan<byte> pattern);

    public abstract void Flatten(T record, Span<byte> pattern);
}

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
