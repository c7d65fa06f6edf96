namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The server's end of one byte stream. Reads into one large buffer, so that a message costs one read if the system has
/// all of it, and writes each message with one write. A frame is a length of 4 bytes and a payload.
/// <code>
///  client: hello, 2 bytes: shape, caller   then  echo: frame*   pump: order*   drain: (order, frame*)*
///  server:                                       echo: frame*   pump: frame*   drain: (count, 8)*
///  order:  count, 8 | size, 4
/// </code>
/// </summary>
internal static class ByteStreamServer
{
    public const int LengthBytes = sizeof(int);
    private const int HelloBytes = 2;
    private const int OrderBytes = sizeof(long) + sizeof(int);

    public static byte[] Hello(LoadShape shape, CallerKind caller) => [(byte)shape, (byte)caller];

    public static byte[] Order(long messages, int sizeBytes)
    {
        byte[] order = new byte[OrderBytes];
        BinaryPrimitives.WriteInt64LittleEndian(order, messages);
        BinaryPrimitives.WriteInt32LittleEndian(order.AsSpan(sizeof(long)), sizeBytes);
        return order;
    }

    /// <summary>Reads an <see cref="Order"/>.</summary>
    public static (long Count, int SizeBytes) Parse(ReadOnlySpan<byte> order) => (
        BinaryPrimitives.ReadInt64LittleEndian(order),
        BinaryPrimitives.ReadInt32LittleEndian(order[sizeof(long)..]));

    /// <summary>Writes the length into a message that has room for it.</summary>
    public static byte[] Framed(byte[] message)
    {
        BinaryPrimitives.WriteInt32LittleEndian(message, message.Length - LengthBytes);
        return message;
    }

    /// <summary>Serves until the client ends the stream.</summary>
    /// <param name="stream">The stream; it is disposed.</param>
    /// <param name="answer">Checks and counts the frame that was taken, and returns the frame that answers it.</param>
    public static async Task ServeAsync(Stream stream, Func<FrameStream, ReadOnlyMemory<byte>> answer)
    {
        try
        {
            await using (stream)
            {
                byte[] hello = new byte[HelloBytes];
                await stream.ReadExactlyAsync(hello);
                var shape = (LoadShape)hello[0];
                var caller = (CallerKind)hello[1];
                var frames = new FrameStream(stream, caller);

                // With a blocking client this is a blocking server, and has a thread.
                await (caller == CallerKind.Async
                    ? ServeAsync(shape, frames, answer)
                    : Task.Factory.StartNew(
                        () => ServeAsync(shape, frames, answer),
                        CancellationToken.None,
                        TaskCreationOptions.LongRunning,
                        TaskScheduler.Default).Unwrap());
            }
        }
        catch (IOException)
        {
            // The client's process has ended, as it does after each run; it has reported itself whether it got all.
        }
    }

    /// <summary>Makes the answers of one connection without a serialiser.</summary>
    public static Func<FrameStream, ReadOnlyMemory<byte>> RawAnswer()
    {
        var answer = new EchoAnswer(LengthBytes);
        return frames =>
        {
            ServedTally.CountRequest(frames.Payload);
            if (!answer.TryMake(frames.Payload, out Memory<byte> made))
            {
                return frames.Frame;
            }

            BinaryPrimitives.WriteInt32LittleEndian(made.Span, made.Length - LengthBytes);
            return made;
        };
    }

    private static Task ServeAsync(
        LoadShape shape, FrameStream frames, Func<FrameStream, ReadOnlyMemory<byte>> answer) => shape switch
        {
            LoadShape.Echo => EchoAsync(frames, answer),
            LoadShape.Pump => PumpAsync(frames),
            _ => DrainAsync(frames),
        };

    private static async Task EchoAsync(FrameStream frames, Func<FrameStream, ReadOnlyMemory<byte>> answer)
    {
        while (await frames.TryReadAsync())
        {
            await frames.WriteAsync(answer(frames));
        }
    }

    private static async Task PumpAsync(FrameStream frames)
    {
        byte[] order = new byte[OrderBytes];
        while (await frames.TryReadBytesAsync(order))
        {
            (long count, int size) = Parse(order);
            using var messages = PumpMessages.OfSize(size, LengthBytes);
            for (long i = 0; i < count; i++)
            {
                await frames.WriteAsync(Framed(messages.Next(i)));
            }
        }
    }

    private static async Task DrainAsync(FrameStream frames)
    {
        byte[] order = new byte[OrderBytes];
        while (await frames.TryReadBytesAsync(order))
        {
            (long count, _) = Parse(order);
            for (long i = 0; i < count && await frames.TryReadAsync(); i++)
            {
                ServedTally.CountRequest(frames.Payload);
            }

            await frames.WriteAsync(order.AsMemory(0, sizeof(long)));
        }
    }
}
