namespace RpcOverShm.Perf.Peer.Records;

/// <summary>A record of about 100 bytes.</summary>
internal sealed class SmallShape : RecordShape<SmallRecord>
{
    public const int RecordBytes = 8 + 4 + 4 + 4 + NameBytes + PlaceBytes;

    private const int NameBytes = 12;
    private const int PlaceBytes = 18;

    public override int PatternBytes => RecordBytes;

    public override SmallRecord Make(ReadOnlySpan<byte> pattern)
    {
        var from = new PatternReader(pattern);
        return Make(ref from);
    }

    public override void Flatten(SmallRecord record, Span<byte> pattern)
    {
        var to = new PatternWriter(pattern);
        Flatten(record, ref to);
    }

    public static SmallRecord Make(ref PatternReader from) => new()
    {
        Number = from.Number(),
        Time = from.Time(),
        Kind = from.Int32(),
        Price = from.Double(),
        Name = from.Text(NameBytes),
        Place = from.Text(PlaceBytes),
    };

    public static void Flatten(SmallRecord record, ref PatternWriter to)
    {
        to.Number(record.Number);
        to.Time(record.Time);
        to.Int32(record.Kind);
        to.Double(record.Price);
        to.Text(record.Name, NameBytes);
        to.Text(record.Place, PlaceBytes);
    }
}
