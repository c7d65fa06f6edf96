namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>The limits of messages: their defaults, 0 bytes, which allows empty messages, and large ones.</summary>
internal sealed class MessageLimitTests() : RigFixture(RigKind.Shm)
{
    public static IEnumerable<TestCaseData> Limits =>
    [
        new TestCaseData(new RigOptions { ServerMaxReceive = 0 }) { TestName = "ServerReceive" },
        new TestCaseData(new RigOptions { ServerMaxSend = 0 }) { TestName = "ServerSend" },
        new TestCaseData(new RigOptions { ClientMaxReceive = 0 }) { TestName = "ClientReceive" },
        new TestCaseData(new RigOptions { ClientMaxSend = 0 }) { TestName = "ClientSend" },
    ];

    [Test]
    [Item("S15")]
    public void LimitsOfTheOptions_AreThoseOfGrpc()
    {
        var options = new ShmServerOptions();

        Assert.That(options.MaxReceiveMessageSize, Is.EqualTo(4 << 20));
        Assert.That(options.MaxSendMessageSize, Is.Null);
    }

    [TestCaseSource(nameof(Limits))]
    public async Task Zero_TakesEmptyMessagesOnly(RigOptions options)
    {
        ShmRig rig = await StartShmAsync(new Script(), options);
        rig.Log.Expect(301);

        Payload empty = await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("x")));

        Assert.That(empty.Data, Is.Empty);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
    }

    // Its array and metadata count too, so a limit of one message would refuse the largest one.
    [Test]
    [Long("A request of 160 MiB is made, copied and read.", "BufferLimitTests")]
    public async Task LargestMessage_FitsIntoTheDefaultLimits()
    {
        const int Largest = 160 << 20;
        var script = new Script { Unary = (_, _) => Task.FromResult(Payloads.Empty) };
        ShmRig rig = await StartShmAsync(script, new RigOptions { ServerMaxReceive = Largest });
        Payload request = Payloads.OfSize(Largest - 16);
        Assert.That(request.CalculateSize(), Is.InRange(Largest - 16, Largest));

        Payload answer = await rig.Client.UnaryAsync(request).ResponseAsync.Bounded();

        Assert.That(answer.Data, Is.Empty);
        await Timeouts.Eventually(() => rig.Server.Running!.BufferBudget.UsedBytes == 0);
    }
}
