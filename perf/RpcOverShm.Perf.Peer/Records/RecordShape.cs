using Google.Protobuf;

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
