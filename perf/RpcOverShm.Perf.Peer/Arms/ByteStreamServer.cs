namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The server's end of one byte stream. Reads into one large buffer, so that a message costs one read where the system
/// has all of it, and writes each message with one write. A frame is a length of 4 bytes and a payload.
/// <code>
///  client: hello, 2 bytes: shape, caller   then  echo: frame*   pump: order*   drain: (order, frame*)*
///  server:                                       echo: frame*   pump: frame*   drain: (count, 8)*
///  order:  count, 8 | size, 4
/// </code>
/// </summary>
internal static class ByteStreamServer
{
    public const int LengthBytes = sizeof(int);
    public const int HelloBytes = 2;
    private const int OrderBytes = sizeof(long) + sizeof(int);

    public static byte[] Hello(LoadShape shape, CallerKind caller) => [(byte)shape, (byte)caller];

    public static byte[] Order(long messages, int sizeBytes)
    {
        byte[] order = new byte[OrderBytes];
        BinaryPrimitives.WriteInt64LittleEndian(order, messages);
        BinaryPrimitives.WriteInt32LittleEndian(order.AsSpan(sizeof(long)), sizeBytes);
        return order;
    }

    /// <summary>What <see cref="Order"/> has written.</summary>
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
    public static async Task ServeAsync(Stream stream)
    {
        try
        {
            await using (stream)
            {
                byte[] hello = new byte[HelloBytes];
                await stream.ReadExactlyAsync(hello);
                var shape = (LoadShape)hello[0];
                if ((CallerKind)hello[1] == CallerKind.Blocking)
                {
                    await Task.Factory.StartNew(
                        () => Serve(shape, stream),
                        CancellationToken.None,
                        TaskCreationOptions.LongRunning,
                        TaskScheduler.Default);
                }
                else
                {
                    await ServeAsync(shape, stream);
                }
            }
        }
        catch (IOException)
        {
            // The client's process has ended, as it does after each run; whether it got what it needed it has said
            // itself.
        }
    }

    private static void Serve(LoadShape shape, Stream stream)
    {
        switch (shape)
        {
            case LoadShape.Echo:
                Echo(new FrameStream(stream));
                break;
            case LoadShape.Pump:
                Pump(stream);
                break;
            default:
                Drain(new FrameStream(stream));
                break;
        }
    }

    private static Task ServeAsync(LoadShape shape, Stream stream) => shape switch
    {
        LoadShape.Echo => EchoAsync(new FrameStream(stream)),
        LoadShape.Pump => PumpAsync(stream),
        _ => DrainAsync(new FrameStream(stream)),
    };

    private static void Echo(FrameStream frames)
    {
        var answer = new EchoAnswer(LengthBytes);
        while (frames.TryRead())
        {
            frames.Stream.Write(Answer(frames, answer).Span);
        }
    }

    private static async Task EchoAsync(FrameStream frames)
    {
        var answer = new EchoAnswer(LengthBytes);
        while (await frames.TryReadAsync())
        {
            await frames.Stream.WriteAsync(Answer(frames, answer));
        }
    }

    private static ReadOnlyMemory<byte> Answer(FrameStream frames, EchoAnswer answer)
    {
        ServedTally.CountRequest(frames.Payload);
        if (!answer.TryMake(frames.Payload, out Memory<byte> made))
        {
            return frames.Frame;
        }

        BinaryPrimitives.WriteInt32LittleEndian(made.Span, made.Length - LengthBytes);
        return made;
    }

    private static void Pump(Stream stream)
    {
        byte[] order = new byte[OrderBytes];
        while (stream.ReadAtLeast(order, OrderBytes, throwOnEndOfStream: false) == OrderBytes)
        {
            (long count, int size) = Parse(order);
            using var messages = PumpMessages.OfSize(size, LengthBytes);
            for (long i = 0; i < count; i++)
            {
                stream.Write(Framed(messages.Next(i)));
            }
        }
    }

    private static async Task PumpAsync(Stream stream)
    {
        byte[] order = new byte[OrderBytes];
        while (await stream.ReadAtLeastAsync(order, OrderBytes, throwOnEndOfStream: false) == OrderBytes)
        {
            (long count, int size) = Parse(order);
            using var messages = PumpMessages.OfSize(size, LengthBytes);
            for (long i = 0; i < count; i++)
            {
                await stream.WriteAsync(Framed(messages.Next(i)));
            }
        }
    }

    private static void Drain(FrameStream frames)
    {
        byte[] order = new byte[OrderBytes];
        while (frames.TryReadBytes(order))
        {
            (long count, _) = Parse(order);
            for (long i = 0; i < count && frames.TryRead(); i++)
            {
                ServedTally.CountRequest(frames.Payload);
            }

            frames.Stream.Write(order.AsSpan(0, sizeof(long)));
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

            await frames.Stream.WriteAsync(order.AsMemory(0, sizeof(long)));
        }
    }
}
