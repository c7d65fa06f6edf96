using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Services;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>
/// Clients that watch and do not read cost the server next to nothing, and miss nothing that still holds.
/// </summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class SlowWatcherTests(RigKind kind) : HealthFixture(kind)
{
    private const int MessageBytes = 64 << 10;
    private const int Changes = 20_000;

    [Test]
    public async Task Watcher_ThatDoesNotRead_IsSparedWhatWasReplacedAndGetsTheLatest()
    {
        ShmHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartAsync(StatusPayloads.Watching(health, Service, MessageBytes));

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await Timeouts.Eventually(() => health.Watchers.Length == 1);
        await ChangeAsync(health);
        health.ClearStatus(Service);
        Assert.That(health.Watchers.Single().WaitingCount, Is.LessThanOrEqualTo(HealthWatcher.MostWaiting));
        List<ServingStatus> read = await ReadUntilAsync(call, ServingStatus.ServiceUnknown);

        Assert.That(read, Has.Count.LessThan(Changes / 10));
        Assert.That(read.Zip(read.Skip(1)).Where(pair => pair.First == pair.Second), Is.Empty);
    }

    [Test]
    public async Task Watcher_ThatDoesNotRead_HoldsUpNoOther()
    {
        ShmHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartAsync(StatusPayloads.Watching(health, Service, MessageBytes));

        using AsyncServerStreamingCall<Payload> slow = rig.Client.ServerStream(Payloads.Empty);
        using AsyncServerStreamingCall<Payload> other = rig.Client.ServerStream(Payloads.Empty);
        await Timeouts.Eventually(() => health.Watchers.Length == 2);
        Task<List<ServingStatus>> reading = ReadUntilAsync(other, ServingStatus.ServiceUnknown);
        await ChangeAsync(health);
        health.ClearStatus(Service);

        Assert.That((await reading.Bounded())[^1], Is.EqualTo(ServingStatus.ServiceUnknown));
    }

    [Test]
    public async Task Watcher_ThatGoesWhileAWriteToItWaits_IsForgotten()
    {
        ShmHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartAsync(StatusPayloads.Watching(health, Service, MessageBytes));

        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await Timeouts.Eventually(() => health.Watchers.Length == 1);
        await ChangeAsync(health);
        Assert.That(health.Watchers, Has.Length.EqualTo(1));
        call.Dispose();

        await AllGoneAsync(health);
        Assert.That(rig.Log.Of(301), Is.Empty, "A client that goes is no failure of the method.");
    }

    // With a pause now and then, or the method that sends would see a handful of the changes only.
    private static async Task ChangeAsync(ShmHealthService health)
    {
        for (int i = 0; i < Changes; i++)
        {
            health.SetStatus(Service, i % 2 == 0 ? ServingStatus.NotServing : ServingStatus.Serving);
            if (i % 100 == 0)
            {
                await Task.Yield();
            }
        }
    }

    private static async Task<List<ServingStatus>> ReadUntilAsync(
        AsyncServerStreamingCall<Payload> call, ServingStatus last)
    {
        var read = new List<ServingStatus>();
        while (read.Count == 0 || read[^1] != last)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), "The watch has ended.");
            read.Add(StatusPayloads.StatusIn(call.ResponseStream.Current));
        }

        return read;
    }
}
