using System.Runtime.InteropServices;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>A server with many clients: they come at once, come and go, or need too many descriptors.</summary>
[OneMode]
internal sealed partial class ManyConnectionsTests : PeerFixture
{
    private const int LimitOfDescriptors = 7; // RLIMIT_NOFILE

    [TestCase(4)]
    [TestCase(16, Category = LongAttribute.Name)]
    [HangBound(300)]
    public async Task Processes_ThatConnectAtOnce_AreAllServed(int processes)
    {
        ShmServer server = await ServeAsync(new Script());
        PeerProcess[] peers =
            await Task.WhenAll(Enumerable.Range(0, processes).Select(_ => StartCallingPeerAsync()));

        string[] failures = await Task.WhenAll(peers.Select(peer => peer.DoAsync("shapes")));

        Assert.That(failures, Is.All.Empty);
        Assert.That(server.Running!.Connections, Has.Count.EqualTo(processes));
    }

    [TestCase(400)]
    [TestCase(10_000, Category = LongAttribute.Name)]
    [HangBound(300)]
    public async Task Connections_ThatComeAndGo_LeaveNothing(int times)
    {
        const int AtOnce = 4;
        ShmServer server = await ServeAsync(new Script());
        await ComeAndGoAsync(AtOnce);
        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);
        var before = ProcessFacts.OfSelf();

        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(_ => Task.Run(() => ComeAndGoAsync(times / AtOnce))));

        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);
        await ReturnsToAsync(before);

        async Task ComeAndGoAsync(int count)
        {
            for (int i = 0; i < count; i++)
            {
                await using ShmChannel channel = ShmChannel.ForAddress(
                    Address, new ShmChannelOptions
                    {
                        Connect = { RuntimeDirectory = Directory.Option },
                        LoggerFactory = Log,
                    });
                var client = new ScriptClient(channel.CreateCallInvoker());
                Payload answer = await client.UnaryAsync(Payloads.OfSize(i % 64)).ResponseAsync.Bounded();
                Assert.That(answer.IsOfSize(i % 64));
            }
        }
    }

    [Test]
    [LinuxOnly("It limits descriptors.")]
    public async Task Server_WhoseDescriptorsRunOut_RefusesTheNext_AndServesTheOthers()
    {
        const int Descriptors = 400;
        PeerProcess peer = await StartServingPeerAsync();
        Assert.That(SetLimit(peer.Id, LimitOfDescriptors, [Descriptors, Descriptors], 0), Is.Zero);
        List<ShmChannel> channels = [];
        RpcException? failure = null;
        while (failure is null)
        {
            channels.Add(OpenChannel(options => options.LoggerFactory = null));
            failure = await TryCallAsync(channels[^1]);
        }

        Assert.That(channels, Has.Count.GreaterThan(Descriptors / 8).And.Count.LessThan(Descriptors));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(failure.Status.Detail, Does.Contain("descriptors"));
        for (int i = 0; i < channels.Count - 1; i++)
        {
            Assert.That(await TryCallAsync(channels[i]), Is.Null, "Those that are connected are served.");
        }

        // What one leaves, another takes, once the server has seen that.
        await channels[0].DisposeAsync();
        var client = new ScriptClient(channels[^1].CreateCallInvoker());
        await client.UnaryAsync(Payloads.Empty, new CallOptions().WithWaitForReady()).ResponseAsync.Bounded();
        Assert.That(peer.HasExited, Is.False);
    }

    private static async Task<RpcException?> TryCallAsync(ShmChannel channel)
    {
        try
        {
            await new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
            return null;
        }
        catch (RpcException exception)
        {
            return exception;
        }
    }

    [LibraryImport("libc", EntryPoint = "prlimit", SetLastError = true)]
    private static partial int SetLimit(int process, int resource, ulong[] limit, nint old);
}
