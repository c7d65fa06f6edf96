namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of an echo over a byte stream: one write, and reads until the reply is whole.</summary>
internal sealed class ByteStreamEcho(Stream stream) : IEcho
{
    private const int LengthBytes = ByteStreamServer.LengthBytes;

    private byte[] _requests = [];
    private byte[] _replies = [];
    private Memory<byte> _request;
    private Memory<byte> _reply;

    /// <summary>Empty when the length before it is wrong.</summary>
    public ReadOnlySpan<byte> Reply =>
        BinaryPrimitives.ReadInt32LittleEndian(_reply.Span) == _reply.Length - LengthBytes
            ? _reply.Span[LengthBytes..]
            : [];

    public Memory<byte> Prepare(ExchangeSize size)
    {
        _request = Slice(ref _requests, LengthBytes + size.RequestBytes);
        _reply = Slice(ref _replies, LengthBytes + size.ReplyExpected);
        BinaryPrimitives.WriteInt32LittleEndian(_request.Span, size.RequestBytes);
        return _request[LengthBytes..];
    }

    public void Call()
    {
        stream.Write(_request.Span);
        stream.ReadExactly(_reply.Span);
    }

    // What is allocated for a call is to be the arm's, not this method's.
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public async ValueTask CallAsync()
    {
        await stream.WriteAsync(_request);
        await stream.ReadExactlyAsync(_reply);
    }

    private static Memory<byte> Slice(ref byte[] buffer, int length)
    {
        buffer = buffer.Length < length ? new byte[length] : buffer;
        return buffer.AsMemory(0, length);
    }
}
