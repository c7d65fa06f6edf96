namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The client's end of an echo by a generated client. A fresh request for each call, as in a real program; it shares
/// the caller's bytes.
/// </summary>
internal sealed class CallsEcho(Conformance.ConformanceClient client) : IEcho
{
    private byte[] _bytes = [];
    private Payload _request = new();
    private Payload _reply = new();

    public ReadOnlySpan<byte> Reply => _reply.Data.Span;

    public Memory<byte> Prepare(ExchangeSize size)
    {
        _bytes = _bytes.Length < size.RequestBytes ? new byte[size.RequestBytes] : _bytes;
        Memory<byte> bytes = _bytes.AsMemory(0, size.RequestBytes);
        _request = new Payload { Data = UnsafeByteOperations.UnsafeWrap(bytes) };
        return bytes;
    }

    public void Call() => _reply = client.Echo(_request);

    // What is allocated for a call is to be the arm's, not this method's.
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public async ValueTask CallAsync() => _reply = await client.EchoAsync(_request);
}
