using Grpc.Core;
using Grpc.Health.V1;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RpcOverShm.Hosting.Servers;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Servers that drain with their host.</summary>
public class StopTests : HostFixture
{
    private readonly TaskCompletionSource _called = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _release = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [SetUp]
    public void HoldCalls()
    {
        Host.Methods.Echo = async (_, _) =>
        {
            _called.SetResult();
            await _release.Task;
            return "done";
        };
    }

    [Test]
    public async Task Stop_DuringACall_WaitsForItAndRefusesNewOnes()
    {
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        Task<string> call = channel.AskAsync();
        await _called.Task.Bounded();

        Task stop = Host.StopAsync();
        await channel.WaitForStateChangedAsync(ConnectivityState.Ready).Bounded();
        RpcException? refused = Assert.CatchAsync<RpcException>(() => channel.AskAsync().Bounded());
        Assert.That(refused!.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(stop.IsCompleted, Is.False);

        _release.SetResult();
        Assert.That(await call.Bounded(), Is.EqualTo("done"));
        await stop.Bounded();
    }

    [Test]
    public async Task Stop_DuringACallThatDoesNotEnd_KillsItWithinTheTimeOfTheHost()
    {
        Host.Services.Configure<HostOptions>(options => options.ShutdownTimeout = TimeSpan.FromMilliseconds(300));
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        Task<string> call = channel.AskAsync();
        await _called.Task.Bounded();

        // The host throws if its services need longer than its time.
        await Host.StopAsync().Bounded();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => call.Bounded());
        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        _release.SetResult();
    }

    [Test]
    public async Task Stop_OfTwoServers_DrainsBothAtTheSameTime()
    {
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
        Host.Services.AddShmServer("other", $"shm://{UniqueName.Next()}").AddService<TestService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        Task<string> call = channel.AskAsync();
        await _called.Task.Bounded();

        Task stop = Host.StopAsync();
        await WhenStopping(Host.Server);
        await WhenStopping(Host.Provider.GetRequiredKeyedService<ShmServer>("other"));
        Assert.That(stop.IsCompleted, Is.False);

        _release.SetResult();
        await call.Bounded();
        await stop.Bounded();
    }

    [Test]
    public async Task Stop_WithAWatchOfHealth_EndsTheWatch()
    {
        Host.Services.Configure<HostOptions>(options => options.ShutdownTimeout = Timeout.InfiniteTimeSpan);
        Host.Services.AddShmServer(Host.Address).AddHealth();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        using AsyncServerStreamingCall<HealthCheckResponse> watch = new Health.HealthClient(channel)
            .Watch(new HealthCheckRequest());
        Assert.That(await watch.ResponseStream.MoveNext().Bounded(), Is.True);
        Assert.That(
            watch.ResponseStream.Current.Status, Is.EqualTo(HealthCheckResponse.Types.ServingStatus.Serving));

        await Host.StopAsync().Bounded();

        Assert.That(await watch.ResponseStream.MoveNext().Bounded(), Is.True);
        Assert.That(
            watch.ResponseStream.Current.Status, Is.EqualTo(HealthCheckResponse.Types.ServingStatus.NotServing));
        Assert.That(await watch.ResponseStream.MoveNext().Bounded(), Is.False);
        Assert.That(watch.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [TestCase(30, 29)]
    [TestCase(5, 4.5)]
    [TestCase(0, 0)]
    public void DrainTime_OfTheTimeOfTheHost_LeavesTimeForTheKill(double seconds, double expected) =>
        Assert.That(
            HostedServer.DrainTime(TimeSpan.FromSeconds(seconds)), Is.EqualTo(TimeSpan.FromSeconds(expected)));

    [Test]
    public void DrainTime_WithoutALimit_HasNone() =>
        Assert.That(HostedServer.DrainTime(Timeout.InfiniteTimeSpan), Is.EqualTo(Timeout.InfiniteTimeSpan));

    private static Task WhenStopping(ShmServer server) =>
        Timeouts.Eventually(() => server.Stopping.IsCancellationRequested);
}
