namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>A kind of message that a program makes of bytes, and the checked service for it.</summary>
internal abstract class MessageForm<T>
    where T : class
{
    /// <summary>Takes a message to bytes and back, for calls without generated code.</summary>
    public virtual Marshaller<T> Marshaller => throw new NotSupportedException();

    /// <summary>The bytes that a message of the size asked for is made of.</summary>
    public virtual int BytesFor(int sizeBytes) => sizeBytes;

    public abstract T Make(byte[] bytes);

    /// <summary>The bytes of a message, where they are or copied to the scratch buffer.</summary>
    public abstract ReadOnlySpan<byte> BytesOf(T message, ref byte[] scratch);

    /// <summary>Checks and counts a request; answers with the request itself, or with what it asks for.</summary>
    public virtual Task<T> EchoAsync(T request)
    {
        byte[] none = [];
        return Task.FromResult(EchoAnswer.MakeOther(BytesOf(request, ref none)) is { } reply ? Make(reply) : request);
    }

    /// <summary>Takes a message of a stream from the server.</summary>
    public virtual void Take(T message, PumpSink sink)
    {
        byte[] none = [];
        sink.Take(BytesOf(message, ref none));
    }

    /// <summary>Checks and counts a message of a stream from the client.</summary>
    public virtual void Count(T message)
    {
        byte[] none = [];
        ServedTally.CountRequest(BytesOf(message, ref none));
    }

    /// <summary>Sends as many messages as the order says.</summary>
    public async Task PumpAsync(PumpRequest order, IServerStreamWriter<T> writer)
    {
        using var messages = PumpMessages.OfSize(order.MessageBytes);
        for (long i = 0; i < order.Messages; i++)
        {
            // A message has been serialised when its write completes, so its bytes can be used again.
            await writer.WriteAsync(Make(messages.Next(i)));
        }
    }

    /// <summary>Checks and counts all messages of a stream.</summary>
    public async Task<DrainReply> DrainAsync(IAsyncStreamReader<T> reader)
    {
        var reply = new DrainReply();
        while (await reader.MoveNext(CancellationToken.None))
        {
            Count(reader.Current);
            reply.Messages++;
        }

        return reply;
    }
}

/// <summary>Protobuf messages, which share the bytes that they are made of.</summary>
internal sealed class ProtobufForm : MessageForm<Payload>
{
    public override Payload Make(byte[] bytes) => new() { Data = UnsafeByteOperations.UnsafeWrap(bytes) };

    public override ReadOnlySpan<byte> BytesOf(Payload message, ref byte[] scratch) => message.Data.Span;
}

/// <summary>Arrays of bytes, handed to the transport and taken from it as they are.</summary>
internal sealed class RawForm : MessageForm<byte[]>
{
    // The codec's, which works over every transport; it looks at no other marshaller.
    public override Marshaller<byte[]> Marshaller =>
        ShmRawCodec.Instance.CreateMarshaller(Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes))!;

    public override byte[] Make(byte[] bytes) => bytes;

    public override ReadOnlySpan<byte> BytesOf(byte[] message, ref byte[] scratch) => message;
}
