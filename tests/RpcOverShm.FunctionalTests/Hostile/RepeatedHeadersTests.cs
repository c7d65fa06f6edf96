using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The first frame of a response fixes its headers; later headers are ignored.</summary>
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

        // Asked for only now, so the headers are those that the message has fixed.
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
