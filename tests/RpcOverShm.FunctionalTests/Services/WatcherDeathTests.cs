using RpcOverShm.FunctionalTests.TwoProcess;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Removal of the watches of a killed process.</summary>
internal sealed class WatcherDeathTests : PeerFixture
{
    [Test]
    public async Task Watcher_WhoseProcessIsKilled_IsForgotten()
    {
        var health = new CountedHealthService();
        await ServeAsync(StatusPayloads.Watching(health, "service", 16));
        PeerProcess peer = await StartCallingPeerAsync();
        await peer.DoAsync("hold server-stream");
        await Timeouts.Eventually(() => health.Watches == 1);
        health.SetStatus("service", ServingStatus.Serving);

        peer.Kill();

        await Timeouts.Eventually(() => health.Watches == 0);
    }
}
