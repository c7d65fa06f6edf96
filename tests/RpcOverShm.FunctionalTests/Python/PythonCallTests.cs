namespace RpcOverShm.FunctionalTests.Python;

/// <summary>Calls of every shape by the client that was written from PROTOCOL.md alone.</summary>
[Parallelizable]
internal sealed class PythonCallTests : PythonFixture
{
    private const string SmallRing = "ring=0x10000 window=0x10000";

    private static readonly RigOptions s_small = RigOptions.AnySize with { RingCapacity = 64 << 10 };

    [Test]
    public async Task Unary_OfAnySize_IsAnswered(
        [Values(0, 100, 8_000, 16 << 10, 20_000, 1 << 20, 3_000_001)] int bytes, [Values] bool isSmall)
    {
        (_, PythonClient client) = await StartPairAsync(
            isSmall ? s_small : RigOptions.AnySize, connect: isSmall ? SmallRing : "");

        string first = await client.DoAsync($"unary {bytes}");
        string second = await client.DoAsync($"unary {bytes}");

        // A response of one record is in the End; more frames are its parts and credit for the request.
        bool isOneRecord = bytes <= 8_000;
        Assert.That(new[] { first, second }, Is.All.StartWith("0 True None frames="));
        Assert.That(
            new[] { first, second }.Select(facts => facts.EndsWith(" frames=1", StringComparison.Ordinal)),
            Is.All.EqualTo(isOneRecord));
    }

    [TestCase("sum 0", "0 0")]
    [TestCase("sum 1000", "0 500500")]
    [TestCase("drain 20 8", "0 messages=20 bytes=160 wrong=0")]
    [TestCase("drain 5 1048576", "0 messages=5 bytes=5242880 wrong=0")]
    [TestCase("count 0", "0 True 0")]
    [TestCase("count 1000", "0 True 1000")]
    [TestCase("pump 3 1000001", "0 3 True")]
    [TestCase("pump 2000 100", "0 2000 True")]
    [TestCase("duplex 100 0", "None 0 100")]
    [TestCase("duplex 100 1000", "None 0 100")]
    [TestCase("duplex 5 300000", "None 0 5")]
    public async Task Stream_InEachDirection_ArrivesWhole(string command, string facts)
    {
        (_, PythonClient client) = await StartPairAsync(RigOptions.AnySize);
        Assert.That(await client.DoAsync(command), Is.EqualTo(facts));

        await StartPairAsync(s_small, connect: SmallRing);
        Assert.That(await client.DoAsync(command), Is.EqualTo(facts), "The connection of small rings is the last.");
    }

    [TestCase(1, 10)]
    [TestCase(50, 100)]
    [TestCase(3, 20_000, Description = "in several frames")]
    public async Task Metadata_BothWays_AreTheSame(int entries, int bytes)
    {
        (_, PythonClient client) = await StartPairAsync(s_small, connect: SmallRing);

        Assert.That(await client.DoAsync($"metadata {entries} {bytes}"), Is.EqualTo("0 True True True"));
    }

    [Test]
    public async Task Metadata_BeyondTheServersLimit_FailTheCallOnly()
    {
        (_, PythonClient client) = await StartPairAsync();

        Assert.That(await client.DoAsync("metadata 4 20000"), Does.StartWith("8 "));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
    }

    [Test]
    public async Task FailingMethod_WithADetail_IsReported()
    {
        (_, PythonClient client) = await StartPairAsync();

        Assert.That(
            await client.DoAsync("fail 9 Füße im Weg"),
            Is.EqualTo(@"9 [Füße im Weg] [('why-bin', b'\x00\xff')] False"));
        Assert.That(await client.DoAsync("fail 5"), Is.EqualTo(@"5 [] [('why-bin', b'\x00\xff')] False"));
    }

    [TestCase("/rpcovershm.testing.Conformance/NotOverridden", "12 []")]
    [TestCase("/rpcovershm.testing.Conformance/Nothing", "12 [Method is unimplemented.]")]
    [TestCase("/no.Service/Nothing", "12 [Service is unimplemented.]")]
    public async Task UnknownMethod_OfAnyKind_IsUnimplemented(string method, string facts)
    {
        (_, PythonClient client) = await StartPairAsync();

        Assert.That(await client.DoAsync($"call {method}"), Is.EqualTo(facts));
    }

    [TestCase(2000, 100, true)]
    [TestCase(5, 1_000_000, true)]
    [TestCase(3, 0, false)]
    public async Task OneWayCalls_OfAnySize_AllRun_AndEachIsEnded(int count, int bytes, bool isMuch)
    {
        int right = 0;
        (_, PythonClient client) = await StartPairAsync(script: new Script
        {
            Unary = (request, _) =>
            {
                Interlocked.Add(ref right, request.IsOfSize(bytes, 5) ? 1 : 0);
                return Task.FromResult(request);
            },
        });

        Assert.That(await client.DoAsync($"one_way {count} {bytes}"), Is.EqualTo($"{isMuch}"));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
        await Timeouts.Eventually(() => Volatile.Read(ref right) == count);
    }

    [Test]
    public async Task Deadline_ThatPasses_EndsTheCall()
    {
        (_, PythonClient client) = await StartPairAsync();

        Assert.That(await client.DoAsync("deadline 50"), Does.StartWith("4 ["));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
    }

    [TestCase("Duplex")]
    [TestCase("ClientStream")]
    public async Task Cancel_OfAMethod_ReachesItsToken(string method)
    {
        var held = new HeldMethods();
        (_, PythonClient client) = await StartPairAsync(script: held.Script);

        await client.DoAsync($"begin {method}");
        await held.Began.Bounded();
        await client.DoAsync("cancel");

        Assert.That(await client.DoAsync("end"), Does.StartWith("1 ["));
        await held.Cancelled.Bounded();
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
    }

    [Test]
    public async Task Calls_AtTheSameTime_AreIndependent()
    {
        (_, PythonClient client) = await StartPairAsync();
        await client.DoAsync("begin Duplex");
        await client.DoAsync("send first");

        Assert.That(await client.DoAsync("unary 1000000"), Does.StartWith("0 True"));
        Assert.That(await client.DoAsync("next"), Is.EqualTo("first"));
        await client.DoAsync("half-close");
        Assert.That(await client.DoAsync("end"), Is.EqualTo("0 [] False"));
    }
}
