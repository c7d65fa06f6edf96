using Google.Protobuf;
using Grpc.Core;
using MessagePack;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>The codec on a channel and a server. The functional tests cover codecs in general.</summary>
internal sealed class ChannelTests
{
    private static readonly Method<Everything, Everything> s_echo = new(
        MethodType.Unary, "Test", "Echo", Generated(Everything.Parser), Generated(Everything.Parser));

    [TestCase(0)]
    [TestCase(1000)]
    [TestCase(300_000)]
    public async Task Message_OfAnySize_ComesBack(int more)
    {
        await using ShmServer server = await StartAsync(ShmMessagePackCodec.Instance);
        using ShmChannel channel = PackedServer.Open(server, ShmMessagePackCodec.Instance);
        Everything message = Samples.Everything;
        message.Scalars.Text = new string('€', more);
        message.Lists.I32.Add(Enumerable.Range(0, more));

        // Twice, because the second large message is sent while it is being serialized.
        for (int i = 0; i < 2; i++)
        {
            Everything answer = await Call(channel, message).Bounded();
            Assert.That(answer, Is.EqualTo(message));
        }
    }

    [Test]
    public async Task Answer_ThatCannotBeRead_IsInternalAndSaysWhere()
    {
        await using ShmServer server = await StartAsync(new GarbageCodec([0x81, 0x01, 0xa1, 0x78]));
        using ShmChannel channel = PackedServer.Open(server, ShmMessagePackCodec.Instance);

        RpcException? failure = Assert.CatchAsync<RpcException>(() => Call(channel, new Everything()).Bounded());

        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(
            failure.Status.Detail,
            Does.Contain(nameof(MessagePackSerializationException)).And.Contains("'scalars'"));
    }

    private static Marshaller<T> Generated<T>(MessageParser<T> parser)
        where T : class, IMessage<T> => Marshallers.Create(message => message.ToByteArray(), parser.ParseFrom);

    private static Task<ShmServer> StartAsync(ShmCodec codec) => PackedServer.StartAsync(
        ServerServiceDefinition.CreateBuilder()
            .AddMethod(s_echo, (request, _) => Task.FromResult(request)).Build(),
        codec);

    private static Task<Everything> Call(ShmChannel channel, Everything message) =>
        channel.CreateCallInvoker().AsyncUnaryCall(s_echo, host: null, new CallOptions(), message).ResponseAsync;

    /// <summary>A codec that ignores requests and always writes the same bytes.</summary>
    private sealed class GarbageCodec(byte[] answer) : ShmCodec
    {
        public override string Name => ShmMessagePackCodec.Instance.Name;

        public override Marshaller<T> CreateMarshaller<T>(Marshaller<T> generated) =>
            Marshallers.Create(_ => answer, _ => Activator.CreateInstance<T>());
    }
}
