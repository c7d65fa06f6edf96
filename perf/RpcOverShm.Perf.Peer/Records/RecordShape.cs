namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// A kind of record that is made from a pattern and is turned back into it, so that every field of it is checked.
/// </summary>
/// <param name="patternBytes">The bytes of a pattern that are in a record.</param>
/// <param name="walk">Takes each field of a record from a cursor, to which it passes the field's value.</param>
internal sealed class RecordShape<T>(int patternBytes, RecordWalk<T> walk) : MessageForm<T>
    where T : class, IMessage<T>, new()
{
    public int PatternBytes => patternBytes;

    public override int BytesFor(int sizeBytes) => patternBytes;

    public override T Make(byte[] bytes)
    {
        var record = new T();
        var from = new PatternCursor(bytes, isWriting: false);
        walk(ref from, record);
        return record;
    }

    public override ReadOnlySpan<byte> BytesOf(T message, ref byte[] scratch)
    {
        scratch = scratch.Length == patternBytes ? scratch : new byte[patternBytes];
        var to = new PatternCursor(scratch, isWriting: true);
        walk(ref to, message);
        return scratch;
    }
}

/// <summary>Walks over the fields of a record.</summary>
internal delegate void RecordWalk<in T>(ref PatternCursor cursor, T record);
