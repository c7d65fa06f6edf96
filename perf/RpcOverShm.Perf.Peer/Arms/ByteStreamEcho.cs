using System.Buffers.Binary;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of an echo over a byte stream: one write, and reads until the reply is whole.</summary>
internal sealed class ByteStreamEcho(Stream stream) : IEcho
{
    private const int LengthBytes = ByteStreamServer.LengthBytes;

    private byte[] _request = [];
    private byte[] _reply = [];

    /// <summary>Empty when the length before it is wrong.</summary>
    public ReadOnlySpan<byte> Reply =>
        BinaryPrimitives.ReadInt32LittleEndian(_reply) == _reply.Length - LengthBytes ? _reply.AsSpan(LengthBytes) : [];

    public Memory<byte> Prepare(int sizeBytes)
    {
        if (_request.Length != LengthBytes + sizeBytes)
        {
            _request = new byte[LengthBytes + sizeBytes];
            _reply = new byte[LengthBytes + sizeBytes];
        }

        BinaryPrimitives.WriteInt32LittleEndian(_request, sizeBytes);
        return _request.AsMemory(LengthBytes);
    }

    public void Call()
    {
        stream.Write(_request);
        stream.ReadExactly(_reply);
    }

    public async ValueTask CallAsync()
    {
        await stream.WriteAsync(_request);
        await stream.ReadExactlyAsync(_reply);
    }
}
