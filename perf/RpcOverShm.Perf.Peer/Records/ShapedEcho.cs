namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// An echo of one kind of record: made from its pattern before the clock starts, taken apart after it has stopped.
/// </summary>
internal abstract class ShapedEcho<T>(RecordShape<T> shape) : IEcho
    where T : class, IMessage<T>
{
    private readonly byte[] _pattern = new byte[shape.PatternBytes];
    private readonly byte[] _flat = new byte[shape.PatternBytes];

    public ReadOnlySpan<byte> Reply
    {
        get
        {
            shape.Flatten(Answer!, _flat);
            return _flat;
        }
    }

    protected T? Request { get; private set; }

    protected T? Answer { get; set; }

    public Memory<byte> Prepare(ExchangeSize size) => _pattern;

    public void Seal()
    {
        Request = shape.Make(_pattern);
        Answer = null;
    }

    public abstract void Call();

    public abstract ValueTask CallAsync();
}
