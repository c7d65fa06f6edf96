namespace RpcOverShm.Perf.Peer.Records;

/// <summary>About 100 KB of records.</summary>
internal sealed class TableShape : RecordShape<TableRecord>
{
    private const int Rows = 1000;

    public override int PatternBytes => 8 + (Rows * SmallShape.RecordBytes);

    public override TableRecord Make(ReadOnlySpan<byte> pattern)
    {
        var from = new PatternReader(pattern);
        var record = new TableRecord { Number = from.Number() };
        for (int i = 0; i < Rows; i++)
        {
            record.Rows.Add(SmallShape.Make(ref from));
        }

        return record;
    }

    public override void Flatten(TableRecord record, Span<byte> pattern)
    {
        pattern.Clear();
        var to = new PatternWriter(pattern);
        to.Number(record.Number);
        for (int i = 0; i < Math.Min(Rows, record.Rows.Count); i++)
        {
            SmallShape.Flatten(record.Rows[i], ref to);
        }
    }
}
