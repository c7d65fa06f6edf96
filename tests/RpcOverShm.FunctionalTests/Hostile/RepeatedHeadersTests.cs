using RpcOverShm.Buffers;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The first answer decides what the response's headers are; a server that sends more changes none.</summary>
internal sealed class RepeatedHeadersTests
{
    [Test]
    public async Task Headers_AfterAMessage_AreIgnored()
    {
        using var directory = new TestDirectory();
        using var log = new LogGuard();
        using var listener = new RawServer(directory.Combine("repeat.sock"));
        await using var channel = ShmChannel.ForAddress(
            "shm://repeat", new ShmChannelOptions { RuntimeDirectory = directory.Path, LoggerFactory = log });
        using AsyncDuplexStreamingCall<Payload, Payload> call = new ScriptClient(channel.CreateCallInvoker()).Duplex();
        using RawPeer server = await listener.AcceptAsync();
        await server.ReceiveAsync(FrameKind.CallStart);
        byte[] message = Message("one");

        server.Send(FrameKind.Message, First, 0, body: message, argument: (uint)message.Length);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        server.Send(FrameKind.Headers, First, head: Headers("late"));
        server.Send(FrameKind.End, First);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);

        // Asked for only now: what stands there is what the message has left.
        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Empty);
        log.Check();
    }

    private static byte[] Headers(string value)
    {
        using var writer = new PooledBufferWriter();
        MetadataCodec.Encode(writer, new Metadata { { "key", value } });
        return writer.WrittenSpan.ToArray();
    }
}
