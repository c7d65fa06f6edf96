using System.Diagnostics;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Servers that are killed and replaced at one address without a cleanup.</summary>
[OneMode]
internal sealed class RestartTests : PeerFixture
{
    [TestCase(2)]
    [TestCase(10, Category = LongAttribute.Name)]
    [TestCase(100, Category = "Stress", Explicit = true, Reason = "Long.")]
    [HangBound(600)]
    public async Task KillAndRestart_NeedsNoCleaning(int times)
    {
        ScriptClient client = OpenClient();
        await WarmUpAsync(client);
        ProcessFacts before = ProcessFacts.OfSelf();
        var took = new List<TimeSpan>();
        for (int i = 0; i < times; i++)
        {
            await using PeerProcess peer = await StartServingPeerAsync();
            Assert.That(client.Unary(Payloads.OfSize(i * 100)).IsOfSize(i * 100));
            Task held = client.UnaryAsync(Payloads.Of("hold")).ResponseAsync;
            await peer.NextEventAsync();

            long killed = Stopwatch.GetTimestamp();
            peer.Kill();
            Assert.That((await CallFailure.OfAsync(held)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
            took.Add(Stopwatch.GetElapsedTime(killed));
            await peer.Exited.Bounded();
            Assert.That(FileNames, Is.EqualTo(Files(LockName, SocketName)));
        }

        await ReturnsToAsync(before);
        TestContext.Out.WriteLine(
            $"{times} kills to the status: median {took.Order().ElementAt(times / 2).TotalMilliseconds:0.0} ms, "
            + $"longest {took.Max().TotalMilliseconds:0.0} ms");
    }

    [Test]
    public async Task Second_LiveServer_IsRefusedByNameOfTheFirst()
    {
        PeerProcess first = await StartServingPeerAsync();
        var server = new ShmServer(Address, new ShmServerOptions { Listen = { RuntimeDirectory = Directory.Option } });

        ShmTransportException here = Assert.ThrowsAsync<ShmTransportException>(() => server.StartAsync())!;
        PeerProcess second = await StartPeerAsync();
        string there = await second.AskAsync($"serve {Address} {Directory.Word}");

        Assert.That(here.Error, Is.EqualTo(ShmTransportError.AddressInUse));

        // A pipe tells its server's process to its clients only.
        string owner = OperatingSystem.IsWindows() ? "another process, or of this one," : $"process {first.Id}";
        Assert.That(here.Message, Does.StartWith($"A server of {owner} already"));
        Assert.That(there, Does.StartWith("error ShmTransportException").And.Contains($"A server of {owner} already"));
        Assert.That(OpenClient().Unary(Payloads.Of("first")).Text(), Is.EqualTo("first"));

        await first.DoAsync("stop");
        await second.DoAsync($"serve {Address} {Directory.Word}");
    }

    [Test]
    public async Task Servers_ThatRaceForAnAddress_AreOneInTheEnd()
    {
        Assume.That(ProcessResources.IsWine, Is.False, "Wine lets each process make a first instance.");
        PeerProcess[] peers = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => StartPeerAsync()));
        for (int round = 0; round < 5; round++)
        {
            string[] replies = await Task.WhenAll(
                peers.Select(peer => peer.AskAsync($"serve {Address} {Directory.Word}")));
            Assert.That(
                replies.Count(reply => reply == "ok"), Is.EqualTo(1), string.Join(Environment.NewLine, replies));
            Assert.That(
                replies.Where(reply => reply != "ok"),
                Is.All.StartsWith("error ShmTransportException"));

            int winner = Array.IndexOf(replies, "ok");
            await peers[winner].DoAsync("stop");
            Assert.That(FileNames, Is.Empty);
        }
    }

    [Test]
    public async Task Server_ThatStops_LeavesNoFile_AndItsClientsFindTheNext()
    {
        ScriptClient client = OpenClient();
        for (int i = 0; i < 3; i++)
        {
            PeerProcess peer = await StartServingPeerAsync();
            Assert.That(client.Unary(Payloads.OfSize(i)).IsOfSize(i));
            await peer.DoAsync("stop 5000");
            Assert.That(FileNames, Is.Empty);
            Assert.That(
                (await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty))).StatusCode,
                Is.EqualTo(StatusCode.Unavailable));
        }
    }

    // Resources that are created once, such as the runtime's sockets and the watchdog, are no leak.
    private async Task WarmUpAsync(ScriptClient client)
    {
        await using PeerProcess peer = await StartServingPeerAsync();
        client.Unary(Payloads.Empty);
        peer.Kill();
        await peer.Exited.Bounded();
        await ProcessFacts.NoneAsync();
    }
}
