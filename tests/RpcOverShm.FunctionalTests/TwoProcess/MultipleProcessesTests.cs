using RpcOverShm.Clients;
using RpcOverShm.FunctionalTests.Connectivity;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>The connections of one channel, with server processes that end or are replaced.</summary>
internal sealed class MultipleProcessesTests : PeerFixture
{
    private const int SocketGone = 9;
    private const int NoExtraConnection = 117;
    private const int Callers = 6;

    [Test]
    public async Task ExtraConnection_ToAnotherProcess_IsNotUsed()
    {
        Log.Expect(SocketGone);
        ShmServer here = await ServeAsync(new Script());
        ShmChannel channel = OpenMany();
        await channel.ConnectAsync().Bounded();
        Array.ForEach(Directory.FileNames, name => File.Delete(Directory.Combine(name)));
        PeerProcess other = await StartServingPeerAsync();
        await using var load = new BlockingLoad(channel, Callers);

        LogEntry entry = await Log.WaitForAsync(NoExtraConnection);
        await load.MakeAsync(calls: 1000);
        await load.EndAsync();

        Assert.That(entry.Message, Does.Contain($"process {other.Id}"));
        Assert.That(here.Running!.Connections, Has.Count.EqualTo(1));
        Assert.That(load.Failures, Is.Empty);
    }

    [Test]
    public async Task KilledServer_IsReplaced_AndTheChannelHasManyConnectionsAgain()
    {
        ShmChannel channel = OpenMany();
        await using PeerProcess first = await StartServingPeerAsync();
        await using var load = new BlockingLoad(channel, Callers);
        await load.MakeAsync(calls: 20 * ConnectionDemand.WaitsToGrow);

        first.Kill();
        await first.Exited.Bounded();
        ShmServer second = await ServeAsync(new Script());
        await Timeouts.Eventually(() => second.Running!.Connections.Count == 4);
        await load.MakeAsync(calls: 1000);
        await load.EndAsync();

        Assert.That(load.Failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unavailable));
    }

    private ShmChannel OpenMany() => OpenChannel(options =>
    {
        options.EnableMultipleConnections = true;
        options.PoolSettings = ConnectionPoolSettings.For(processors: 16);
    });
}
