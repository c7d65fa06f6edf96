using RpcOverShm.MessagePack;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Methods without marshallers. <see cref="RawEchoTests"/> has those of raw bytes.</summary>
internal sealed class ShmMethodTests() : RigFixture(RigKind.Shm)
{
    private static readonly EchoMethods<Card> s_cards = new("test.Cards");

    private static readonly RigOptions s_packed = new()
    {
        ClientCodec = ShmMessagePackCodec.Instance,
        ServerCodecs = [ShmMessagePackCodec.Instance],
    };

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Method_OfEveryShape_IsCarriedByMessagePack(MethodType shape)
    {
        ShmRig rig = await StartShmAsync(s_packed, s_cards.Build());

        Card answer = await s_cards.EchoAsync(rig.Invoker, shape, new Card { Name = "ada", Year = 1815 }).Bounded();

        Assert.That((answer.Name, answer.Year), Is.EqualTo(("ada", 1815)));
    }

    [Test]
    public void Method_HasShapeAndName()
    {
        IMethod[] methods =
        [
            ShmMethod.Unary<Card, string>("test.Cards", "A"),
            ShmMethod.ClientStreaming<Card, string>("test.Cards", "B"),
            ShmMethod.ServerStreaming<Card, string>("test.Cards", "C"),
            ShmMethod.DuplexStreaming<Card, string>("test.Cards", "D"),
        ];

        Assert.That(methods.Select(method => method.Type), Is.EqualTo(new[]
        {
            MethodType.Unary, MethodType.ClientStreaming, MethodType.ServerStreaming, MethodType.DuplexStreaming,
        }));
        Assert.That(
            methods.Select(method => method.FullName),
            Is.EqualTo(new[] { "/test.Cards/A", "/test.Cards/B", "/test.Cards/C", "/test.Cards/D" }));
    }

    [TestCase(null, "name")]
    [TestCase("", "name")]
    [TestCase("/service", "name")]
    [TestCase("service", null)]
    [TestCase("service", "")]
    [TestCase("service", "a/b")]
    public void Name_ThatIsNone_IsRefused(string? service, string? name) => Assert.That(
        () => ShmMethod.Unary<Card, Card>(service!, name!), Throws.InstanceOf<ArgumentException>());

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Call_OnAChannelWithoutCodec_SaysWhatToDo(MethodType shape)
    {
        ShmRig rig = await StartShmAsync(s_packed with { ClientCodec = null }, s_cards.Build());
        ShmChannel retrying = rig.OpenChannel(
            options => options.ServiceConfig = new RigRetries(2, StatusCode.Unavailable).ToServiceConfig());

        foreach (ShmChannel channel in (ShmChannel[])[rig.ShmChannel, retrying])
        {
            Assert.That(
                () => s_cards.EchoAsync(channel.CreateCallInvoker(), shape, new Card()),
                Throws.InvalidOperationException.With.Message.Contains($"{typeof(Card)}")
                    .And.Message.Contains("Set ShmChannelOptions.Codec"));
        }
    }

    [Test]
    public async Task Service_OfAServerWithoutACodecForIt_IsRefusedAtTheStart([Values] bool hasOtherCodec)
    {
        var options = new ShmServerOptions();
        if (hasOtherCodec)
        {
            options.Codecs.Add(ShmRawCodec.Instance);
        }

        await using var server = new ShmServer($"shm://{UniqueName.Next()}", options);
        server.Services.Add(s_cards.Build());

        Assert.That(
            () => server.StartAsync(),
            Throws.ArgumentException.With.Message.Contains("'/test.Cards/Unary'")
                .And.Message.Contains("ShmServerOptions.Codecs"));
    }

    [Test]
    public void CallbackService_OfAChannelWithoutACodec_IsRefused()
    {
        var options = new ShmChannelOptions();
        options.Callbacks.Services.Add(s_cards.Build());

        Assert.That(
            () => ShmChannel.ForAddress("shm://x", options),
            Throws.ArgumentException.With.Message.Contains("ShmChannelOptions.Codec"));
    }

    [Test]
    public async Task Call_WithMarshallers_OfAMethodWithout_IsUnimplemented()
    {
        ShmRig rig = await StartShmAsync(s_packed with { ClientCodec = null }, s_cards.Build());
        Marshaller<byte[]> plain = BytesService.Plain;
        var method = new Method<byte[], byte[]>(MethodType.Unary, "test.Cards", "Unary", plain, plain);

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, method, [0x90]).Call.Outcome);

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(
            StatusCode.Unimplemented, "The client uses the codec 'proto'; the server offers 'msgpack'.")));
    }

    [Test]
    public async Task Callback_WithoutMarshallers_SaysWhatToDo()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    CallInvoker back = context.GetShmSession().CreateCallInvoker();
                    Assert.That(
                        () => s_cards.EchoAsync(back, MethodType.Unary, new Card()),
                        Throws.InvalidOperationException.With.Message.Contains("create the method with marshallers"));
                    return request;
                },
            });
        ShmChannel channel = rig.OpenChannel(options => options.Callbacks.Services.Add(new Script().Build()));

        Payload answer = await new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Of("x"))
            .ResponseAsync.Bounded();

        Assert.That(answer.Text(), Is.EqualTo("x"));
    }

    [Test]
    public async Task Call_OverAnotherTransport_SaysWhatToDo()
    {
        await using CallRig rig = await CallRig.StartAsync(RigKind.GrpcDotNet, null, new Script().Build());

        RpcException failure = await FailureOf(s_cards.EchoAsync(rig.Invoker, MethodType.Unary, new Card()));

        Assert.That(failure.Status.Detail, Does.Contain("Set ShmChannelOptions.Codec"));
    }
}
