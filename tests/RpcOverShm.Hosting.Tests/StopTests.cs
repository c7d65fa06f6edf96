using Grpc.Core;
using Grpc.Health.V1;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RpcOverShm.Hosting.Servers;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Servers that drain with their host.</summary>
public class StopTests
{
    private readonly TaskCompletionSource _called = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _release = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private TestHost _host = null!;

    [SetUp]
    public void CreateHost()
    {
        _host = new TestHost();
        _host.Methods.Echo = async (_, _) =>
        {
            _called.SetResult();
            await _release.Task;
            return "done";
        };
    }

    [TearDown]
    public async Task DisposeHost() => await _host.DisposeAsync();

    [Test]
    public async Task Stop_DuringACall_WaitsForItAndRefusesNewOnes()
    {
        _host.Services.AddShmServer(_host.Address).AddService<TestService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();
        Task<string> call = channel.AskAsync();
        await _called.Task.Bounded();

        Task stop = _host.StopAsync();
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
        _host.Services.Configure<HostOptions>(options => options.ShutdownTimeout = TimeSpan.FromMilliseconds(300));
        _host.Services.AddShmServer(_host.Address).AddService<TestService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();
        Task<string> call = channel.AskAsync();
        await _called.Task.Bounded();

        // The host throws if its services need longer than its time.
        await _host.StopAsync().Bounded();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => call.Bounded());
        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        _release.SetResult();
    }

    [Test]
    public async Task Stop_OfTwoServers_DrainsBothAtTheSameTime()
    {
        _host.Services.AddShmServer(_host.Address).AddService<TestService>();
        _host.Services.AddShmServer("other", $"shm://{UniqueName.Next()}").AddService<TestService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();
        Task<string> call = channel.AskAsync();
        await _called.Task.Bounded();

        Task stop = _host.StopAsync();
        await WhenStopping(_host.Server);
        await WhenStopping(_host.Provider.GetRequiredKeyedService<ShmServer>("other"));
        Assert.That(stop.IsCompleted, Is.False);

        _release.SetResult();
        await call.Bounded();
        await stop.Bounded();
    }

    [Test]
    public async Task Stop_WithAWatchOfHealth_EndsTheWatch()
    {
        _host.Services.Configure<HostOptions>(options => options.ShutdownTimeout = Timeout.InfiniteTimeSpan);
        _host.Services.AddShmServer(_host.Address).AddHealth();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();
        using AsyncServerStreamingCall<HealthCheckResponse> watch = new Health.HealthClient(channel)
            .Watch(new HealthCheckRequest());
        Assert.That(await watch.ResponseStream.MoveNext().Bounded(), Is.True);
        Assert.That(
            watch.ResponseStream.Current.Status, Is.EqualTo(HealthCheckResponse.Types.ServingStatus.Serving));

        await _host.StopAsync().Bounded();

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
