using System.Buffers.Binary;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The server's end of one byte stream. Reads into one large buffer, so that a message costs one read where the system
/// has all of it, and writes each message with one write.
/// <code>
///  client: hello, 2 bytes: shape, caller    then  echo: (length, 4 bytes | payload)*     pump: (count, 8 | size, 4)*
///  server:                                        echo: the same frames                  pump: (length, 4 | payload)*
/// </code>
/// </summary>
internal static class ByteStreamServer
{
    public const int LengthBytes = sizeof(int);
    public const int OrderBytes = sizeof(long) + sizeof(int);
    private const int HelloBytes = 2;

    public static byte[] Hello(LoadShape shape, CallerKind caller) => [(byte)shape, (byte)caller];

    /// <summary>Serves until the client ends the stream.</summary>
    public static async Task ServeAsync(Stream stream)
    {
        try
        {
            await using (stream)
            {
                byte[] hello = new byte[HelloBytes];
                await stream.ReadExactlyAsync(hello);
                bool isEcho = (LoadShape)hello[0] == LoadShape.Echo;
                if ((CallerKind)hello[1] == CallerKind.Blocking)
                {
                    Action<Stream> serve = isEcho ? Echo : Pump;
                    await Task.Factory.StartNew(
                        () => serve(stream),
                        CancellationToken.None,
                        TaskCreationOptions.LongRunning,
                        TaskScheduler.Default);
                }
                else
                {
                    await (isEcho ? EchoAsync(stream) : PumpAsync(stream));
                }
            }
        }
        catch (IOException)
        {
            // The client's process has ended, as it does after each run; whether it got what it needed it has said
            // itself.
        }
    }

    private static void Echo(Stream stream)
    {
        var frames = new FrameBuffer();
        while (true)
        {
            while (!frames.TryTake())
            {
                int count = stream.Read(frames.Free.Span);
                if (count == 0)
                {
                    return;
                }

                frames.Add(count);
            }

            ServedTally.CountRequest(frames.Payload);
            stream.Write(frames.Frame.Span);
        }
    }

    private static async Task EchoAsync(Stream stream)
    {
        var frames = new FrameBuffer();
        while (true)
        {
            while (!frames.TryTake())
            {
                int count = await stream.ReadAsync(frames.Free);
                if (count == 0)
                {
                    return;
                }

                frames.Add(count);
            }

            ServedTally.CountRequest(frames.Payload);
            await stream.WriteAsync(frames.Frame);
        }
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

    private static (long Count, int SizeBytes) Parse(ReadOnlySpan<byte> order) => (
        BinaryPrimitives.ReadInt64LittleEndian(order),
        BinaryPrimitives.ReadInt32LittleEndian(order[sizeof(long)..]));

    private static byte[] Framed(byte[] message)
    {
        BinaryPrimitives.WriteInt32LittleEndian(message, message.Length - LengthBytes);
        return message;
    }
}
