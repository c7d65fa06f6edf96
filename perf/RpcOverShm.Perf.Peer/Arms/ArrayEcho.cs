namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// An echo whose request is an array of exactly its size, which is used again for the next of that size.
/// </summary>
internal abstract class ArrayEcho : IEcho
{
    private readonly Dictionary<int, byte[]> _requests = [];

    public abstract ReadOnlySpan<byte> Reply { get; }

    protected byte[] Request { get; private set; } = [];

    public virtual Memory<byte> Prepare(ExchangeSize size)
    {
        if (Request.Length != size.RequestBytes)
        {
            Request = _requests.GetValueOrDefault(size.RequestBytes) ?? new byte[size.RequestBytes];
            _requests[size.RequestBytes] = Request;
        }

        return Request;
    }

    public virtual void Seal()
    {
    }

    public virtual void Call() => throw new NotSupportedException();

    public virtual ValueTask CallAsync() => throw new NotSupportedException();
}
