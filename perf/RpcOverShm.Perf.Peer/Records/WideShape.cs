namespace RpcOverShm.Perf.Peer.Records;

/// <summary>A record of about 1 KiB, with strings and a map.</summary>
internal sealed class WideShape : RecordShape<WideRecord>
{
    private const int TextBytes = 20;
    private const int Marks = 16;
    private const int NoteBytes = 36;

    private static readonly string[] s_notes =
        ["color", "size", "origin", "owner", "state", "origin-id", "serial", "x"];

    public override int PatternBytes =>
        8 + (3 * TextBytes) + (Marks * 4) + (s_notes.Length * NoteBytes) + SmallShape.RecordBytes;

    public override WideRecord Make(ReadOnlySpan<byte> pattern)
    {
        var from = new PatternReader(pattern);
        var record = new WideRecord
        {
            Number = from.Number(),
            Name = from.Text(TextBytes),
            Street = from.Text(TextBytes),
            City = from.Text(TextBytes),
        };
        for (int i = 0; i < Marks; i++)
        {
            record.Marks.Add(from.Int32());
        }

        foreach (string note in s_notes)
        {
            record.Notes.Add(note, from.Text(NoteBytes));
        }

        record.Last = SmallShape.Make(ref from);
        return record;
    }

    public override void Flatten(WideRecord record, Span<byte> pattern)
    {
        var to = new PatternWriter(pattern);
        to.Number(record.Number);
        to.Text(record.Name, TextBytes);
        to.Text(record.Street, TextBytes);
        to.Text(record.City, TextBytes);
        for (int i = 0; i < Marks; i++)
        {
            to.Int32(i < record.Marks.Count ? record.Marks[i] : 0);
        }

        foreach (string note in s_notes)
        {
            to.Text(record.Notes.GetValueOrDefault(note, ""), NoteBytes);
        }

        SmallShape.Flatten(record.Last ?? new SmallRecord(), ref to);
    }
}
