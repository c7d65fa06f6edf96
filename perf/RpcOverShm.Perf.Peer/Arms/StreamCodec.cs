namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A serialiser over a byte stream, for both ends: a program with a serialiser and without RPC. Messages are serialised
/// and parsed on both sides.
/// </summary>
internal abstract class StreamCodec(string name)
{
    /// <summary>The name in the arm's: "pipe-NAME".</summary>
    public string Name => name;

    /// <summary>Makes the client's end of an echo.</summary>
    public abstract IEcho MakeEcho(FrameStream frames);

    /// <summary>Makes the server's answers for one connection: each is valid until the next.</summary>
    public abstract Func<FrameStream, ReadOnlyMemory<byte>> MakeAnswer();

    /// <summary>Makes an echo of messages that are taken to frames and back.</summary>
    protected static IEcho EchoOf<T>(
        MessageForm<T> form,
        FrameStream frames,
        Func<T, ReadOnlyMemory<byte>> write,
        Func<ReadOnlyMemory<byte>, T> read)
        where T : class
    {
        return new MessageEcho<T>(form, Call, CallAsync);

        // With a blocking caller nothing is awaited.
        T Call(T request)
        {
            ValueTask<T> call = CallAsync(request);
            return call.IsCompleted ? call.Result : throw new NotSupportedException();
        }

        // The figures count the allocations of the arm, and not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        async ValueTask<T> CallAsync(T request)
        {
            await frames.WriteAsync(write(request));
            return await frames.TryReadAsync() ? read(frames.Frame) : throw new EndOfStreamException("No answer.");
        }
    }
}

/// <summary>Protobuf with the message of the gRPC arms, each serialised to an array of its own.</summary>
internal sealed class ProtobufCodec() : StreamCodec("protobuf")
{
    private const int LengthBytes = ByteStreamServer.LengthBytes;

    public override IEcho MakeEcho(FrameStream frames) => EchoOf(CheckedService.Form, frames, Write, Read);

    public override Func<FrameStream, ReadOnlyMemory<byte>> MakeAnswer() => static frames =>
    {
        Payload request = Read(frames.Frame);
        byte[]? other = EchoAnswer.MakeOther(request.Data.Span);
        return Write(other is null ? request : new Payload { Data = UnsafeByteOperations.UnsafeWrap(other) });
    };

    private static ReadOnlyMemory<byte> Write(Payload message)
    {
        byte[] frame = GC.AllocateUninitializedArray<byte>(LengthBytes + message.CalculateSize());
        message.WriteTo(frame.AsSpan(LengthBytes));
        return ByteStreamServer.Framed(frame);
    }

    private static Payload Read(ReadOnlyMemory<byte> frame) => Payload.Parser.ParseFrom(frame.Span[LengthBytes..]);
}
