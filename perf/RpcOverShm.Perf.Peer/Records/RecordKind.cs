namespace RpcOverShm.Perf.Peer.Records;

/// <summary>One of the records that the serialisers are measured with.</summary>
/// <param name="sizeBytes">
/// The size by which it is ordered: what it has, about, as Protobuf. Arms of raw bytes carry just so many.
/// </param>
internal abstract class RecordKind(int sizeBytes)
{
    private const int TextBytes = 20;
    private const int NameBytes = 12;
    private const int PlaceBytes = 18;
    private const int NoteBytes = 36;
    private const int SmallBytes = 8 + 4 + 4 + 4 + NameBytes + PlaceBytes;
    private const int Marks = 16;
    private const int Rows = 1000;

    private static readonly string[] s_notes =
        ["color", "size", "origin", "owner", "state", "origin-id", "serial", "x"];

    /// <summary>Three scalars.</summary>
    public static RecordKind<TinyRecord> Tiny { get; } = new(28, "EchoTiny", new(8 + 4 + 4, Walk));

    public static RecordKind<SmallRecord> Small { get; } = new(100, "EchoSmall", new(SmallBytes, Walk));

    /// <summary>Strings and a map.</summary>
    public static RecordKind<WideRecord> Wide { get; } = new(
        1 << 10,
        "EchoWide",
        new(8 + (3 * TextBytes) + (Marks * 4) + (s_notes.Length * NoteBytes) + SmallBytes, Walk));

    /// <summary>Rows of small records.</summary>
    public static RecordKind<TableRecord> Table { get; } =
        new(100_000, "EchoTable", new(8 + (Rows * SmallBytes), Walk));

    /// <summary>All kinds; the place is the kind's number in a stream.</summary>
    public static IReadOnlyList<RecordKind> All { get; } = [Tiny, Small, Wide, Table];

    public int SizeBytes => sizeBytes;

    /// <summary>Makes the client's end of an echo by calls.</summary>
    public abstract IEcho EchoBy(CallInvoker invoker);

    /// <summary>Makes the client's end of an echo over a stream.</summary>
    public abstract IEcho EchoOver(FrameStream frames, RecordCodec codec);

    /// <summary>Parses a record that came over a stream, counts it, and serialises it again.</summary>
    public abstract ReadOnlyMemory<byte> Answer(ReadOnlyMemory<byte> frame, RecordFrames frames);

    private static void Walk(ref PatternCursor cursor, TinyRecord record)
    {
        record.Number = cursor.Number(record.Number);
        record.Kind = cursor.Int32(record.Kind);
        record.Value = cursor.Double(record.Value);
    }

    private static void Walk(ref PatternCursor cursor, SmallRecord record)
    {
        record.Number = cursor.Number(record.Number);
        record.Time = cursor.Time(record.Time);
        record.Kind = cursor.Int32(record.Kind);
        record.Price = cursor.Double(record.Price);
        record.Name = cursor.Text(record.Name, NameBytes);
        record.Place = cursor.Text(record.Place, PlaceBytes);
    }

    private static void Walk(ref PatternCursor cursor, WideRecord record)
    {
        record.Number = cursor.Number(record.Number);
        record.Name = cursor.Text(record.Name, TextBytes);
        record.Street = cursor.Text(record.Street, TextBytes);
        record.City = cursor.Text(record.City, TextBytes);
        for (int i = 0; i < Marks; i++)
        {
            if (i == record.Marks.Count)
            {
                record.Marks.Add(0);
            }

            record.Marks[i] = cursor.Int32(record.Marks[i]);
        }

        foreach (string note in s_notes)
        {
            record.Notes[note] = cursor.Text(record.Notes.GetValueOrDefault(note, ""), NoteBytes);
        }

        Walk(ref cursor, record.Last ??= new SmallRecord());
    }

    private static void Walk(ref PatternCursor cursor, TableRecord record)
    {
        record.Number = cursor.Number(record.Number);
        for (int i = 0; i < Rows; i++)
        {
            if (i == record.Rows.Count)
            {
                record.Rows.Add(new SmallRecord());
            }

            Walk(ref cursor, record.Rows[i]);
        }
    }
}

/// <summary>A record as a message of Protobuf.</summary>
internal sealed class RecordKind<T>(int sizeBytes, string method, RecordShape<T> shape) : RecordKind(sizeBytes)
    where T : class, IMessage<T>, new()
{
    public RecordShape<T> Shape => shape;

    // The method is as the generated client has it, whose own are private.
    public override IEcho EchoBy(CallInvoker invoker)
    {
        Marshaller<T> marshaller = RecordFormat.Protobuf.MarshallerOf<T>();
        string service = Testing.Protos.Records.Descriptor.FullName;
        return new MessageEcho<T>(shape, invoker, new(MethodType.Unary, service, method, marshaller, marshaller));
    }

    public override IEcho EchoOver(FrameStream frames, RecordCodec codec) => codec.EchoOf(shape, frames, this);

    public override ReadOnlyMemory<byte> Answer(ReadOnlyMemory<byte> frame, RecordFrames frames)
    {
        T record = frames.Read<T>(frame);
        ServedTally.Count(wrongBytes: 0);
        return frames.Write(record, frame.Span[ByteStreamServer.LengthBytes]);
    }
}
