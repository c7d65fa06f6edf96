using RpcOverShm.MessagePack;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>One-way calls between processes: of clients that die, and to a server that dies.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OneWayProcessTests : PeerFixture
{
    private const int PeerLost = 102;

    // More bytes than the server makes room for at a time.
    [TestCase(4, 1000, 100, false)]
    [TestCase(2, 20, 200_000, false)]
    [TestCase(2, 20, 200_000, true)]
    public async Task Calls_OfClientsThatAreKilled_AllRun(int clients, int calls, int bytes, bool isPacked)
    {
        int right = 0;
        Log.Expect(PeerLost);
        await ServeAsync(
            new Script
            {
                Unary = async (request, _) =>
                {
                    await Task.Yield();
                    Interlocked.Add(ref right, request.IsOfSize(bytes) ? 1 : 0);
                    return request;
                },
            },
            options =>
            {
                options.Scheduling = RigOptions.Mode;
                options.Codecs.Add(ShmMessagePackCodec.Instance);
            });
        PeerProcess[] peers = await Task.WhenAll(Enumerable.Range(0, clients).Select(_ => StartPeerAsync()));

        await Task.WhenAll(peers.Select(async peer =>
        {
            await peer.DoAsync(ChannelCommand(isPacked));
            await peer.DoAsync($"one-way {calls} {bytes}");
            peer.Kill();
            await peer.Exited;
        })).Bounded();

        await Timeouts.Eventually(() => Volatile.Read(ref right) == clients * calls, "every call has run");
    }

    // The peer reports each call that it knows by its text.
    [Test]
    public async Task Calls_ToAPeer_AllRun([Values] bool isPacked)
    {
        const int Calls = 100;
        PeerProcess server = await StartServingPeerAsync();
        var client = new ScriptClient(OpenChannel(isPacked).CreateOneWayInvoker());

        await Task.WhenAll(Enumerable.Range(0, Calls / 2).Select(
            _ => client.UnaryAsync(Payloads.Of("hold")).ResponseAsync)).Bounded();
        await Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Calls / 2; i++)
            {
                client.Unary(Payloads.Of("hold"));
            }
        }).Bounded();

        for (int i = 0; i < Calls; i++)
        {
            Assert.That(await server.NextEventAsync(), Is.EqualTo("holding"));
        }
    }

    [Test]
    public async Task Calls_ToAServerThatIsKilled_WaitNoLonger()
    {
        Log.Expect(PeerLost);
        PeerProcess server = await StartServingPeerAsync();
        ShmChannel channel = OpenChannel(options => options.Scheduling = RigOptions.Mode);
        int failed = 0;
        var client = new ScriptClient(channel.CreateOneWayInvoker((_, status) =>
            Interlocked.Add(ref failed, status.StatusCode == StatusCode.Unavailable ? 1 : 0)));
        await client.UnaryAsync(Payloads.Of("rest"));
        int sent = 0;
        Task waiting;
        do
        {
            sent++;
            waiting = client.UnaryAsync(Payloads.Of("rest")).ResponseAsync;
        }
        while (waiting.IsCompletedSuccessfully);

        Task blocked = Timeouts.OnThread(() => client.Unary(Payloads.Of("rest")));
        server.Kill();
        await server.Exited.Bounded();

        Assert.That((await CallFailure.OfAsync(waiting)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That((await CallFailure.OfAsync(blocked)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        await Timeouts.Eventually(() => Volatile.Read(ref failed) == sent, "each call that was sent is reported");
    }
}
