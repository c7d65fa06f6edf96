namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class UnaryTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task Request_BlockingOrAwaited_AnswersWithTheHandlersResponse()
    {
        CallRig rig = await StartAsync(
            new Script { Unary = (request, _) => Task.FromResult(Payloads.Of(request.Text() + "!")) });

        Payload blocking = await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("hi"))).Bounded();
        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("hello"));

        Assert.That(blocking.Text(), Is.EqualTo("hi!"));
        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("hello!"));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        Assert.That(call.GetTrailers(), Is.Empty);
        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Not.Null);
    }

    [Test]
    public async Task GeneratedClient_EveryUnaryForm_Works()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));

        Payload blocking = await Timeouts.OnThread(() => rig.Conformance.Echo(Payloads.Of("a"))).Bounded();
        Payload awaited = await rig.Conformance.EchoAsync(Payloads.Of("b")).ResponseAsync.Bounded();

        Assert.That(blocking.Text() + awaited.Text(), Is.EqualTo("ab"));
    }

    // The sizes lie around every boundary: records, the inline limit, chunks, a call's window, the ring.
    [Test]
    public async Task Echo_OfAnySize_IsByteForByteTheSame(
        [Values(
            0, 1, 15, 16, 17, 100, 4095, 8176, 16367, 16384, 16385, 32768, 65536, 131071, 262144, 262145, 1048576,
            3000001)]
        int bytes,
        [Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(new Script());

        Payload response = await EchoAsync(rig, bytes, isBlocking);

        Assert.That(response.IsOfSize(bytes));
    }

    [TestCase(8, false)]
    [TestCase(8, true)]
    [TestCase(64, false, Category = LongAttribute.Name)]
    [TestCase(64, true, Category = LongAttribute.Name)]
    public async Task Echo_OfMebibytes_PassesWithTheLimitsRaised(int mebibytes, bool isBlocking)
    {
        int bytes = mebibytes << 20;
        CallRig rig = await StartAsync(new Script(), RigOptions.AnySize);

        Payload response = await EchoAsync(rig, bytes, isBlocking);

        Assert.That(response.IsOfSize(bytes));
    }

    [Test]
    public async Task Blocking_FromAnotherCallsHandler_DoesNotDeadlock()
    {
        CallRig? rig = null;
        var script = new Script
        {
            Unary = (request, _) => Task.FromResult(
                request.Text() == "outer" ? rig!.Client.Unary(Payloads.Of("inner")) : Payloads.Of("answer")),
        };
        rig = await StartAsync(script);

        Payload response = await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("outer"))).Bounded();

        Assert.That(response.Text(), Is.EqualTo("answer"));
    }

    private static Task<Payload> EchoAsync(CallRig rig, int bytes, bool isBlocking) => isBlocking
        ? Timeouts.OnThread(() => rig.Client.Unary(Payloads.OfSize(bytes))).Bounded()
        : rig.Client.UnaryAsync(Payloads.OfSize(bytes)).ResponseAsync.Bounded();
}
