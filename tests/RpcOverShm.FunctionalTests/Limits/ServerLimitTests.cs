namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>The server's limits on message sizes: a message over a limit fails its own call only.</summary>
[EveryRig]
internal sealed class ServerLimitTests(RigKind kind) : ItemFixture(kind)
{
    // The field adds bytes to a message's data: two below 128 bytes, three below 16 KiB, four below 2 MiB, five above.
    private const int DefaultLimit = 4 << 20;

    [Test]
    [Item("S15")]
    public async Task RequestAtTheDefaultLimit_Passes()
    {
        CallRig rig = await UseAsync(new Script());

        Payload response = await rig.Client.UnaryAsync(Payloads.OfSize(DefaultLimit - 5)).ResponseAsync.Bounded();

        Assert.That(response.IsOfSize(DefaultLimit - 5));
    }

    [Test]
    [Item("S15")]
    public async Task RequestOverTheDefaultLimit_IsResourceExhausted([Values] bool isBlocking)
    {
        // The client's own limit on the response must not apply.
        CallRig rig = await UseAsync(new Script(), new RigOptions { ClientMaxReceive = null });

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.OfSize(DefaultLimit - 4)))
            : await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(DefaultLimit - 4)));

        Assert.That(
            failure.Status.Plain(),
            Is.EqualTo(new Status(
                StatusCode.ResourceExhausted,
                IsShm
                    ? "Received message exceeds the maximum configured message size. The message has 4194305 bytes; "
                        + "MaxReceiveMessageSize of the server allows 4194304. Raise it there, or send the data as a "
                        + "stream of smaller messages."
                    : IsGrpcDotNet
                        ? "Received message exceeds the maximum configured message size."
                        : "Received message larger than max (4194305 vs. 4194304)")));
    }

    [Test]
    [Item("S15")]
    public async Task SmallLimits_CountToTheByte()
    {
        CallRig rig = await UseAsync(new Script(), new RigOptions { ServerMaxReceive = 1000 });

        Payload response = await rig.Client.UnaryAsync(Payloads.OfSize(997)).ResponseAsync.Bounded();
        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(998)));

        Assert.That(response.IsOfSize(997));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    [Item("S15")]
    public async Task StreamedRequestOverTheLimit_EndsTheCall()
    {
        CallRig rig = await UseAsync(new Script(), new RigOptions { ServerMaxReceive = 10_000 });

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.OfSize(100)).Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        await call.RequestStream.WriteAsync(Payloads.OfSize(20_000)).Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    [Item("S15")]
    public async Task LimitNull_IsAnySize()
    {
        CallRig rig = await UseAsync(new Script(), RigOptions.AnySize);

        Payload response = await rig.Client.UnaryAsync(Payloads.OfSize(5 << 20)).ResponseAsync.Bounded();

        Assert.That(response.IsOfSize(5 << 20));
    }

    [Test]
    [Item("S15")]
    public async Task ResponseOfAnySize_IsSentByDefault()
    {
        CallRig rig = await UseAsync(
            new Script { Unary = (_, _) => Task.FromResult(Payloads.OfSize(9 << 20)) },
            new RigOptions { ClientMaxReceive = null });

        Payload response = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(response.IsOfSize(9 << 20));
    }

    [Test]
    [Item("S15")]
    public async Task ResponseOverTheSendLimit_IsResourceExhausted()
    {
        CallRig rig = await UseAsync(new Script(), new RigOptions { ServerMaxSend = 1000 });
        rig.Log.Expect(MethodThrew);

        RpcException[] failures =
        [
            await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(998))),
            await FailureOf(rig.Client.ServerStream(Payloads.OfSize(998)).ResponseStream.ToListAsync()),
        ];
        Payload response = await rig.Client.UnaryAsync(Payloads.OfSize(997)).ResponseAsync.Bounded();

        Assert.That(response.IsOfSize(997));
        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.ResourceExhausted));
    }
}
