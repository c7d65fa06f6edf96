namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of a drain over a byte stream: one write for each message, one answer for all.</summary>
internal sealed class ByteStreamDrain(Stream stream) : IDrain
{
    private readonly byte[] _answer = new byte[sizeof(long)];

    public void Send(long messages, int sizeBytes)
    {
        stream.Write(ByteStreamServer.Order(messages, sizeBytes));
        using var source = PumpMessages.OfSize(sizeBytes, ByteStreamServer.LengthBytes);
        for (long i = 0; i < messages; i++)
        {
            stream.Write(ByteStreamServer.Framed(source.Next(i)));
        }

        stream.ReadExactly(_answer);
        Check(messages);
    }

    public async Task SendAsync(long messages, int sizeBytes)
    {
        await stream.WriteAsync(ByteStreamServer.Order(messages, sizeBytes));
        using var source = PumpMessages.OfSize(sizeBytes, ByteStreamServer.LengthBytes);
        for (long i = 0; i < messages; i++)
        {
            await stream.WriteAsync(ByteStreamServer.Framed(source.Next(i)));
        }

        await stream.ReadExactlyAsync(_answer);
        Check(messages);
    }

    private void Check(long messages)
    {
        long taken = BinaryPrimitives.ReadInt64LittleEndian(_answer);
        if (taken != messages)
        {
            throw new InvalidDataException($"The server took {taken} messages instead of {messages}.");
        }
    }
}
