namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>A limit of 0 bytes allows empty messages and nothing else.</summary>
internal sealed class ZeroLimitTests() : RigFixture(RigKind.Shm)
{
    public static IEnumerable<TestCaseData> Limits =>
    [
        new TestCaseData(new RigOptions { ServerMaxReceive = 0 }) { TestName = "ServerReceive" },
        new TestCaseData(new RigOptions { ServerMaxSend = 0 }) { TestName = "ServerSend" },
        new TestCaseData(new RigOptions { ClientMaxReceive = 0 }) { TestName = "ClientReceive" },
        new TestCaseData(new RigOptions { ClientMaxSend = 0 }) { TestName = "ClientSend" },
    ];

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
