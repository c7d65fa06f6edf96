namespace RpcOverShm.FunctionalTests.Python;

/// <summary>
/// Handshakes, waking and ends of connections by the client that was written from PROTOCOL.md alone.
/// </summary>
[Parallelizable]
internal sealed class PythonConnectionTests : PythonFixture
{
    private const int AllSeals = 0x17;
    private const int PeerViolation = 103;

    [TestCase("lowest=2 highest=3", "error Refused 1 ", "versions 2 to 3")]
    [TestCase("purpose=2", "error Refused 2 ", "byte stream")]
    [TestCase("seals=0", "error Refused 3 ", "seals")]
    [TestCase("cut=4096", "error Refused 3 ", "bytes; it announced")]
    [TestCase("holes=1", "error Refused 3 ", "has holes")]
    [TestCase("window=0", "error Refused 3 ", "a call window of 0 bytes")]
    public async Task Hello_ThatIsWrong_IsRefusedWithTheReason(string options, string start, string text)
    {
        (ShmRig rig, PythonClient client) = await StartPairAsync();

        string answer = await client.AskAsync($"connect {rig.Place} {options}");

        Assert.That(answer, Does.StartWith(start).And.Contain(text));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"), "The first connection is unharmed.");
    }

    [TestCase(0x01)]
    [TestCase(0x02)]
    [TestCase(0x04)]
    public async Task Segment_WithoutASeal_IsRefused(int missing)
    {
        (ShmRig rig, PythonClient client) = await StartPairAsync();

        string answer = await client.AskAsync($"connect {rig.Place} seals={AllSeals & ~missing}");

        Assert.That(answer, Does.StartWith("error Refused 3 ").And.Contain("seals"));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"), "The first connection is unharmed.");
    }

    [Test]
    public async Task Connections_Several_AreServedAndClosed()
    {
        (ShmRig rig, PythonClient client) = await StartPairAsync();

        Assert.That(await client.DoAsync($"connect {rig.Place}"), Is.EqualTo("2"));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
        Assert.That(rig.Served, Has.Count.EqualTo(2));
        await client.DoAsync("close");
        await Timeouts.Eventually(() => rig.Served.Count == 1);
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
        await client.DoAsync("close");
        await Timeouts.Eventually(() => rig.Served.Count == 0);
    }

    // This client parks for its socket and has no timeout, so a doorbell that the server forgets fails the test. All
    // other clients here poll, and take a doorbell for a violation.
    [Test]
    public async Task ClientThatSleepsOnItsSocket_IsRung()
    {
        (_, PythonClient client) = await StartPairAsync(connect: "sleep=1 ring=0x10000");

        Assert.That(await client.DoAsync("deadline 50"), Does.StartWith("4 "));
        Assert.That(await client.DoAsync("slept"), Is.EqualTo("True True"));
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"));
        Assert.That(await client.DoAsync("duplex 100 1000"), Is.EqualTo("None 0 100"));
        Assert.That(await client.DoAsync("pump 100 10000"), Is.EqualTo("0 100 True"));
        Assert.That(await client.DoAsync("drain 200 10000"), Is.EqualTo("0 messages=200 bytes=2000000 wrong=0"));
    }

    // The log guard fails the test, too, if the server's sleep timed out although there were data.
    [Test]
    public async Task SleepingServer_IsWoken()
    {
        (_, PythonClient client) = await StartPairAsync();

        await AssertWokenAsync(client, "wake-reader", "0 True None frames=1");
    }

    [Test]
    public async Task ServerWithoutSpace_IsWoken()
    {
        (_, PythonClient client) = await StartPairAsync(
            RigOptions.AnySize with { RingCapacity = 64 << 10 }, connect: "window=0x1000000");

        await AssertWokenAsync(client, "wake-writer 100 10000", "0 100 True");
    }

    [Test]
    public async Task Rings_OfBothSides_GrowWhenTheyMust()
    {
        (_, PythonClient client) = await StartPairAsync();
        await client.DoAsync("unary 100");
        Assert.That(await client.DoAsync("rings"), Is.EqualTo("0 False"), "Nothing was large yet.");

        Assert.That(await client.DoAsync("drain 100 10000"), Is.EqualTo("0 messages=100 bytes=1000000 wrong=0"));
        Assert.That(await client.DoAsync("pump 100 10000"), Is.EqualTo("0 100 True"));

        Assert.That(await client.DoAsync("rings"), Is.EqualTo("1 True"));
        Assert.That(await client.DoAsync("unary 30000"), Does.StartWith("0 True"));
    }

    [Test]
    public async Task Violation_OnAnOpenConnection_IsRefusedWithTheReason()
    {
        (ShmRig rig, PythonClient client) = await StartPairAsync();
        rig.Log.Expect(PeerViolation);
        await client.DoAsync($"connect {rig.Place}");

        Assert.That(
            await client.AskAsync("violate"),
            Is.EqualTo("error Refused 7 A frame for call 3.7, which was never started."));
        await client.DoAsync("close");
        Assert.That(await client.DoAsync("unary 100"), Does.StartWith("0 True"), "The first connection is unharmed.");
    }

    [Test]
    public async Task StoppingServer_LetsCallsEndAndTakesNone()
    {
        (ShmRig rig, PythonClient client) = await StartPairAsync();
        await client.DoAsync("begin Duplex");
        await client.DoAsync("send before");
        Assert.That(await client.DoAsync("next"), Is.EqualTo("before"));

        Task stopping = rig.ShutDownServerAsync();
        await client.DoAsync("go-away");

        Assert.That(await client.DoAsync("begin Unary"), Is.Not.Empty);
        Assert.That(await client.DoAsync("end"), Does.StartWith("14 [").And.EndsWith("] True"));
        await client.DoAsync("send after");
        Assert.That(await client.DoAsync("next"), Is.EqualTo("after"));
        await client.DoAsync("half-close");
        Assert.That(await client.DoAsync("end"), Is.EqualTo("0 [] False"));
        await client.DoAsync("close");
        await stopping.Bounded();
    }

    [Test]
    public async Task KilledServer_EndsTheSocket()
    {
        (ShmRig rig, PythonClient client) = await StartPairAsync();
        await client.DoAsync("unary 100");

        await rig.KillServerAsync().Bounded();

        Assert.That(await client.AskAsync("gone"), Does.StartWith("error PeerGone"));
    }

    // A server that reads again may have withdrawn its announcement by the time of the write: then it is not rung.
    private static async Task AssertWokenAsync(PythonClient client, string command, string facts)
    {
        string answer = "";
        for (int i = 0; i < 20 && answer != $"{facts} True"; i++)
        {
            answer = await client.DoAsync(command);
            Assert.That(answer, Does.StartWith(facts));
        }

        Assert.That(answer, Is.EqualTo($"{facts} True"), "The event loop was never rung.");
    }
}
