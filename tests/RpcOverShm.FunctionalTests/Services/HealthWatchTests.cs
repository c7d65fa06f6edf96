using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

[EveryRig]
[Parallelizable]
internal sealed class HealthWatchTests(RigKind kind) : HealthFixture(kind)
{
    [Test]
    public async Task Watch_OfAKnownService_IsItsStatusAtOnceThenEveryChange()
    {
        CountedHealthService health = ServiceWith(ServingStatus.NotServing);
        Health.HealthClient client = await StartAsync(health);

        using AsyncServerStreamingCall<HealthCheckResponse> call = Watch(client);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.NotServing));
        foreach (ServingStatus status in new[]
            { ServingStatus.Serving, ServingStatus.Unknown, ServingStatus.ServiceUnknown, ServingStatus.NotServing })
        {
            health.SetStatus(Service, status);
            Assert.That(await NextAsync(call), Is.EqualTo(status));
        }
    }

    [Test]
    public async Task Watch_OfAnUnknownService_SaysSoAndLaterOtherwise()
    {
        var health = new CountedHealthService();
        Health.HealthClient client = await StartAsync(health);

        using AsyncServerStreamingCall<HealthCheckResponse> call = Watch(client);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.ServiceUnknown));
        health.SetStatus(Service, ServingStatus.Serving);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.Serving));
        health.ClearStatus(Service);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.ServiceUnknown));
        health.SetStatus(Service, ServingStatus.Serving);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.Serving));
        health.ClearAll();
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.ServiceUnknown));
    }

    [Test]
    public async Task Watch_OfWhatIsNoChange_SaysNothing()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        Health.HealthClient client = await StartAsync(health);

        using AsyncServerStreamingCall<HealthCheckResponse> call = Watch(client);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.Serving));
        health.SetStatus(Service, ServingStatus.Serving);
        health.SetStatus("other", ServingStatus.Unknown);
        health.ClearStatus("never known");
        health.SetStatus(Service, ServingStatus.NotServing);

        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.NotServing));
    }

    [Test]
    public async Task Watch_ByMany_TellsEachOfItsOwnService()
    {
        const int Watchers = 60;
        var health = new CountedHealthService();
        Health.HealthClient client = await StartAsync(health);

        AsyncServerStreamingCall<HealthCheckResponse>[] calls =
            [.. Enumerable.Range(0, Watchers).Select(i => Watch(client, $"service {i % 3}"))];
        foreach (AsyncServerStreamingCall<HealthCheckResponse> call in calls)
        {
            Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.ServiceUnknown));
        }

        health.SetStatus("service 0", ServingStatus.Serving);
        health.SetStatus("service 1", ServingStatus.NotServing);
        health.SetStatus("service 2", ServingStatus.Unknown);
        for (int i = 0; i < Watchers; i++)
        {
            Assert.That(
                await NextAsync(calls[i]),
                Is.EqualTo(new[] { ServingStatus.Serving, ServingStatus.NotServing, ServingStatus.Unknown }[i % 3]));
        }

        Assert.That(health.Watches, Is.EqualTo(Watchers));
        Array.ForEach(calls, call => call.Dispose());
        await AllGoneAsync(health);
    }

    [Test]
    public async Task Watch_CancelledByItsToken_EndsAndIsForgotten()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        Health.HealthClient client = await StartAsync(health);
        using var cancellation = new CancellationTokenSource();

        using AsyncServerStreamingCall<HealthCheckResponse> call = client.Watch(
            new HealthCheckRequest { Service = Service }, cancellationToken: cancellation.Token);
        await NextAsync(call);
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));
        await AllGoneAsync(health);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Watch_WhoseDeadlinePasses_EndsAndIsForgotten()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        Health.HealthClient client = await StartAsync(health);
        await client.CheckAsync(new HealthCheckRequest { Service = Service }).ResponseAsync.Bounded();

        using AsyncServerStreamingCall<HealthCheckResponse> call = client.Watch(
            new HealthCheckRequest { Service = Service }, deadline: DateTime.UtcNow.AddSeconds(2));
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.Serving));
        RpcException failure = await FailureOf(call.ResponseStream.ToListAsync());
        await AllGoneAsync(health);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task Watch_ThatIsDisposedOrWhoseChannelIsShutDown_IsForgotten()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartAsync(null, Health.BindService(health));

        AsyncServerStreamingCall<HealthCheckResponse> disposed = Watch(new Health.HealthClient(rig.Channel));
        AsyncServerStreamingCall<HealthCheckResponse> left = Watch(new Health.HealthClient(rig.Channel));
        await NextAsync(disposed);
        await NextAsync(left);
        disposed.Dispose();
        await Timeouts.Eventually(() => health.Watches == 1);
        if (!IsDotNet)
        {
            // Grpc.Core's channel does not cancel running calls when it is shut down.
            left.Dispose();
        }

        await rig.ShutDownChannelAsync().Bounded();

        await AllGoneAsync(health);
        Assert.That(() => health.SetStatus(Service, ServingStatus.NotServing), Throws.Nothing);
    }

    [Test]
    public async Task Watch_WhenTheServerIsKilled_EndsAndIsForgotten()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        CallRig rig = await StartAsync(null, Health.BindService(health));

        using AsyncServerStreamingCall<HealthCheckResponse> call = Watch(new Health.HealthClient(rig.Channel));
        await NextAsync(call);
        await rig.KillServerAsync().Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));
        await AllGoneAsync(health);

        // Of grpc-dotnet see ServerStopTests.
        Assert.That(
            failure.StatusCode,
            IsShm ? Is.EqualTo(StatusCode.Unavailable)
            : IsDotNet ? Is.AnyOf(StatusCode.Unavailable, StatusCode.Internal)
            : Is.Not.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Watch_WhileManyThreadsChangeTheStatus_EndsWithTheLastOne()
    {
        const int Threads = 4;
        const int Changes = 2000;
        var health = new CountedHealthService();
        Health.HealthClient client = await StartAsync(health);

        using AsyncServerStreamingCall<HealthCheckResponse> call = Watch(client);
        Assert.That(await NextAsync(call), Is.EqualTo(ServingStatus.ServiceUnknown));
        Task changes = Task.WhenAll(Enumerable.Range(0, Threads).Select(_ => Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Changes; i++)
            {
                health.SetStatus(Service, i % 2 == 0 ? ServingStatus.Serving : ServingStatus.NotServing);
            }
        })));
        Task last = ReadUntilAsync(call, ServingStatus.ServiceUnknown);
        await changes.Bounded();
        health.ClearStatus(Service);

        await last.Bounded();
    }

    private static async Task ReadUntilAsync(AsyncServerStreamingCall<HealthCheckResponse> call, ServingStatus last)
    {
        while (await NextAsync(call) != last)
        {
            // The statuses before the last one depend on the reader's speed.
        }
    }
}
