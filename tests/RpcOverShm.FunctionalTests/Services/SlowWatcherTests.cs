using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Watchers that do not read: they cost the server little memory, and still get the latest status.</summary>
[EveryRig]
internal sealed class SlowWatcherTests(RigKind kind) : HealthFixture(kind)
{
    private const int MessageBytes = 64 << 10;
    private const int ChangesAtATime = 100;

    // The number of statuses that the package queues for a watch whose write waits.
    private const int MostWaiting = 5;

    // The number of consecutive checks that must find the same write waiting, with more changes before each.
    private const int Looks = 20;

    private readonly List<StatusPayloads> _watches = [];

    [SetUp]
    public void ForgetWatches() => _watches.Clear();

    [Test]
    public async Task Watcher_ThatDoesNotRead_IsSparedWhatWasReplacedAndGetsTheLatest()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartWatchingAsync(health);

        using AsyncServerStreamingCall<Payload> call = await WatchAsync(rig, health);
        await ChangeUntilAWriteWaitsAsync(health);
        health.ClearStatus(Service);
        int written = _watches[0].BegunWrites;
        List<ServingStatus> read = await ReadUntilAsync(call, ServingStatus.ServiceUnknown);

        Assert.That(read, Has.Count.LessThanOrEqualTo(written + MostWaiting));
    }

    [Test]
    public async Task Watcher_ThatDoesNotRead_HoldsUpNoOther()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartWatchingAsync(health);

        using AsyncServerStreamingCall<Payload> slow = await WatchAsync(rig, health);
        using AsyncServerStreamingCall<Payload> other = await WatchAsync(rig, health);
        Task<List<ServingStatus>> reading = ReadUntilAsync(other, ServingStatus.ServiceUnknown);
        await ChangeUntilAWriteWaitsAsync(health);
        health.ClearStatus(Service);

        Assert.That((await reading.Bounded())[^1], Is.EqualTo(ServingStatus.ServiceUnknown));
        if (IsDotNet)
        {
            // A waiting write proves that not all were written. Grpc.Core grows its windows while others read.
            await Timeouts.Eventually(
                () => _watches[0].LastWrite is { IsCompleted: false }, "the slow one is held up still");
        }
    }

    [Test]
    public async Task Watcher_ThatGoesWhileAWriteToItWaits_IsForgotten()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartWatchingAsync(health);

        AsyncServerStreamingCall<Payload> call = await WatchAsync(rig, health);
        Task waiting = await ChangeUntilAWriteWaitsAsync(health);
        Assert.That(health.Watches, Is.EqualTo(1));
        Assert.That(waiting.IsCompleted, Is.False);
        call.Dispose();

        await AllGoneAsync(health);
    }

    private Task<CallRig> StartWatchingAsync(CountedHealthService health) =>
        StartAsync(StatusPayloads.Watching(health, Service, MessageBytes, _watches.Add));

    /// <summary>Starts another watch and waits until the server has begun it.</summary>
    private async Task<AsyncServerStreamingCall<Payload>> WatchAsync(CallRig rig, CountedHealthService health)
    {
        int before = health.Watches;
        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await Timeouts.Eventually(() => health.Watches == before + 1);
        return call;
    }

    /// <summary>Changes the status until a write to the first watcher waits for it; returns the write.</summary>
    private async Task<Task> ChangeUntilAWriteWaitsAsync(CountedHealthService health)
    {
        Task? waiting = null;
        int looks = 0;
        await Timeouts.Eventually(
            () =>
            {
                Change(health);
                Task? last = _watches[0].LastWrite;
                looks = last is { IsCompleted: false } && last == waiting ? looks + 1 : 0;
                waiting = last;
                return looks == Looks;
            },
            "a write waits");
        return waiting!;
    }

    private static void Change(CountedHealthService health)
    {
        for (int i = 0; i < ChangesAtATime; i++)
        {
            health.SetStatus(Service, i % 2 == 0 ? ServingStatus.NotServing : ServingStatus.Serving);
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
