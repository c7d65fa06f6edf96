
namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>One-way calls between processes: of clients that die, and to a server that dies.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OneWayProcessTests : PeerFixture
{
    private const int PeerLost = 102;

    // More bytes than the server makes room for at a time.
    [TestCase(4, 1000, 100)]
    [TestCase(2, 20, 200_000)]
    public async Task Calls_OfClientsThatAreKilled_AllRun(int clients, int calls, int bytes)
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
            options => options.Scheduling = RigOptions.Mode);
        PeerProcess[] peers =
            await Task.WhenAll(Enumerable.Range(0, clients).Select(_ => StartCallingPeerAsync()));

        await Task.WhenAll(peers.Select(async peer =>
        {
            await peer.DoAsync($"one-way {calls} {bytes}");
            peer.Kill();
            await peer.Exited;
        })).Bounded();

        await Timeouts.Eventually(() => Volatile.Read(ref right) == clients * calls, "every call has run");
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
