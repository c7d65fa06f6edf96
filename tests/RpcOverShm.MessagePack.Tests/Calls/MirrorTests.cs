using Grpc.Core;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.MessagePack.Tests.RandomMessages;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests.Calls;

/// <summary>One service returns the same responses through both codecs, for any content of its messages.</summary>
internal sealed class MirrorTests
{
    private const int Messages = 200;

    private ShmServer _server = null!;

    private static IEnumerable<Everything> Requests =>
    [
        new Everything(), Samples.Everything,
        .. RandomMessage.Sample(Everything.Descriptor, Messages).Cast<Everything>(),
    ];

    [SetUp]
    public async Task StartAsync() => _server = await PackedServer.StartAsync(MirrorService.Build());

    [TearDown]
    public async Task StopAsync() => await _server.DisposeAsync();

    [Test]
    public async Task Unary_OfEveryKindOfField_AnswersTheSameThroughBothCodecs()
    {
        await using ShmChannel proto = Open(codec: null);
        await using ShmChannel packed = Open(ShmMessagePackCodec.Instance);
        foreach (Everything request in Requests)
        {
            Everything expected = MirrorService.AnswerTo(request);
            Everything byProto = await CallAsync(proto, request);
            Everything byMessagePack = await CallAsync(packed, request);

            Assert.That(byProto, Is.EqualTo(expected));
            Assert.That(byMessagePack, Is.EqualTo(expected));
        }
    }

    [Test]
    public async Task Stream_OfEveryKindOfField_AnswersTheSameThroughBothCodecs()
    {
        await using ShmChannel proto = Open(codec: null);
        await using ShmChannel packed = Open(ShmMessagePackCodec.Instance);
        Everything[] requests = [.. Requests];
        Everything[] expected = [.. requests.Select(MirrorService.AnswerTo)];

        Assert.That(await StreamAsync(proto, requests).Bounded(), Is.EqualTo(expected));
        Assert.That(await StreamAsync(packed, requests).Bounded(), Is.EqualTo(expected));
    }

    [Test]
    public async Task Request_ThatIsNoMessagePack_FailsItsCallAlone()
    {
        await using ShmChannel bytes = Open(new ShmRawCodec("msgpack"));
        Method<byte[], byte[]> method =
            ShmMethod.Unary<byte[], byte[]>(MirrorService.Unary.ServiceName, MirrorService.Unary.Name);
        CallInvoker invoker = bytes.CreateCallInvoker();

        // A message that claims 100 MB; the start of a list; no bytes; Protobuf.
        foreach (byte[] wrong in (byte[][])[[0xDF, 6, 0, 0, 0], [0x91], [], [0x0A, 0x01, 0x01]])
        {
            RpcException? failure = Assert.ThrowsAsync<RpcException>(
                async () => await invoker.AsyncUnaryCall(method, null, default, wrong));
            Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Unknown), Convert.ToHexString(wrong));
        }

        byte[] right = await invoker.AsyncUnaryCall(method, null, default, [0x80]);
        Assert.That(Way.Compiled.Read<Everything>(right), Is.EqualTo(MirrorService.AnswerTo(new Everything())));
    }

    private static async Task<Everything> CallAsync(ShmChannel channel, Everything request) =>
        await channel.CreateCallInvoker().AsyncUnaryCall(MirrorService.Unary, null, default, request)
            .ResponseAsync.Bounded();

    private static async Task<List<Everything>> StreamAsync(ShmChannel channel, Everything[] requests)
    {
        using AsyncDuplexStreamingCall<Everything, Everything> call =
            channel.CreateCallInvoker().AsyncDuplexStreamingCall(MirrorService.Duplex, null, default);
        Task writing = WriteAsync();
        List<Everything> answers = await call.ResponseStream.ToListAsync();
        await writing;
        return answers;

        async Task WriteAsync()
        {
            foreach (Everything request in requests)
            {
                await call.RequestStream.WriteAsync(request);
            }

            await call.RequestStream.CompleteAsync();
        }
    }

    private ShmChannel Open(ShmCodec? codec) => PackedServer.Open(_server, codec);
}
