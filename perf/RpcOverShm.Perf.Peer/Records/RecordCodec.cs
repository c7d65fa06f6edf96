namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// Records over a byte stream, both ends. A frame's first byte behind its length is the kind of record.
/// </summary>
internal sealed class RecordCodec(RecordFormat format) : StreamCodec(format.Name + "-record")
{
    public override IEcho MakeEcho(FrameStream frames) => new RecordEcho(kind => kind.EchoOver(frames, this));

    public override Func<FrameStream, ReadOnlyMemory<byte>> MakeAnswer()
    {
        var records = new RecordFrames(format);
        return frames => RecordKind.All[frames.Payload[0]].Answer(frames.Frame, records);
    }

    /// <summary>Makes the client's end of an echo of one kind of record.</summary>
    public IEcho EchoOf<T>(RecordShape<T> shape, FrameStream frames, RecordKind kind)
        where T : class, IMessage<T>, new()
    {
        var records = new RecordFrames(format);
        byte number = (byte)RecordKind.All.Index().Single(known => known.Item == kind).Index;
        return EchoOf(shape, frames, record => records.Write(record, number), records.Read<T>);
    }
}
