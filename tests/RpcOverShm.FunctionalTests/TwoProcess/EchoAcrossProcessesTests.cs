using System.Globalization;
using RpcOverShm.MessagePack;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Calls of every shape between two processes, in both roles.</summary>
[Parallelizable]
[OneMode]
internal sealed class EchoAcrossProcessesTests : StandingPeerFixture
{
    [Test]
    public async Task EveryShape_ToAPeerThatServes([Values] bool isPacked)
    {
        await TakeServingPeerAsync();
        ScriptClient client = OpenClient(isPacked);

        Assert.That(await Shapes.RunAllAsync(client).Bounded(), Is.Empty);
        Assert.That(await Shapes.RunAllAsync(client, 1_000_000).Bounded(), Is.Empty);
    }

    [Test]
    public async Task EveryShape_FromAPeerThatCalls([Values] bool isPacked)
    {
        await ServeAsync(new Script(), options => options.Codecs.Add(ShmMessagePackCodec.Instance));
        PeerProcess peer = await TakePeerAsync();
        await peer.DoAsync(ChannelCommand(isPacked));

        Assert.That(await peer.DoAsync("shapes"), Is.Empty);
        Assert.That(await peer.DoAsync("echo 5000000"), Is.EqualTo("right"));
    }

    [TestCase(2)]
    [TestCase(8, Category = LongAttribute.Name)]
    public async Task Clients_OfEightThreads_AllAnswersRight(int clients)
    {
        const int Calls = 200;
        ShmServer server = await ServeAsync(new Script());
        var peers = new List<PeerProcess>();
        while (peers.Count < clients)
        {
            peers.Add(await TakeCallingPeerAsync());
        }

        string[] wrong = await Task.WhenAll(peers.Select(peer => peer.DoAsync($"hammer 8 {Calls}")));

        Assert.That(wrong, Is.All.EqualTo("0"));
        Assert.That(server.Running!.Connections, Has.Count.EqualTo(clients));
        Assert.That(server.Running.Connections.Select(served => served.Connection.LostWakeups), Is.All.Zero);
    }

    // Half a second is enough for the caller to read, to spin and to sleep. The caller's pool stays small, so other
    // tests do not get it.
    [TestCase(1)]
    [TestCase(500)]
    public async Task Deadline_OfABlockingCall_NeedsNoThreadOfThePool(int milliseconds)
    {
        await TakeServingPeerAsync();
        PeerProcess peer = await TakePeerAsync("small pool", () => StartPeerAsync());
        await peer.DoAsync($"channel {Address} {Directory.Word}");

        Assert.That(
            await peer.DoAsync($"deadline-without-pool {milliseconds}").Bounded(), Is.EqualTo("DeadlineExceeded"));
    }

    // By itself the pool adds a thread in half a second: it would take half a minute. The bound is half of that.
    [Test]
    public async Task ThreadsOfThePool_ThatBlockInCalls_AreMadeUpForByThePool()
    {
        const int Tasks = 64;
        int arrived = 0;
        var all = new TaskCompletionSource();
        await ServeAsync(new Script
        {
            Unary = async (request, _) =>
            {
                if (Interlocked.Increment(ref arrived) == Tasks)
                {
                    all.SetResult();
                }

                await all.Task;
                return request;
            },
        });
        PeerProcess peer = await StartPeerAsync();

        string milliseconds = await peer.DoAsync($"block-pool {Address} {Directory.Word} {Tasks}").Bounded();

        Assert.That(int.Parse(milliseconds, CultureInfo.InvariantCulture), Is.LessThan(Tasks * 500 / 2));
    }

    [Test]
    public async Task Handler_SeesTheOtherProcess()
    {
        var seen = new TaskCompletionSource<(string Peer, string Pid)>();
        await ServeAsync(new Script
        {
            Unary = (request, context) =>
            {
                AuthProperty pid = context.AuthContext.FindPropertiesByName("pid").Single();
                seen.TrySetResult((context.Peer, pid.Value));
                return Task.FromResult(request);
            },
        });
        PeerProcess peer = await TakeCallingPeerAsync();
        await peer.DoAsync("echo 1");

        Assert.That(await seen.Task.Bounded(), Is.EqualTo(($"shm:pid={peer.Id};session=1", $"{peer.Id}")));
    }

    [Test]
    public async Task Stream_BothWays_ByteForByte()
    {
        const int Bytes = 20_000_000;
        PeerProcess peer = await TakePeerAsync();
        await using ShmStream stream = await OpenStreamAsync(peer);
        Assert.That(stream.PeerProcessId, Is.EqualTo(peer.Id));

        Task<string> writing = peer.DoAsync($"stream-write {Bytes}");
        Assert.That(await StreamChecks.CountWrongAsync(stream, Bytes).Bounded(), Is.Zero);
        await writing;
        Task<string> reading = peer.DoAsync($"stream-read {Bytes}");
        await StreamChecks.WriteAsync(stream, Bytes).Bounded();
        Assert.That(await reading, Is.EqualTo("0"));
    }
}
