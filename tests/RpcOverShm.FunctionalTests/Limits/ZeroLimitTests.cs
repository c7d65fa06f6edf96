namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>The options of limits: their defaults, and 0 bytes, which allows empty messages and nothing else.</summary>
internal sealed class ZeroLimitTests() : RigFixture(RigKind.Shm)
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
}
