using Grpc.Core;
using Grpc.Health.V1;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using RpcOverShm.Hosting.HealthChecks;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The health checks of a host as a health service, and health services as checks of a host.</summary>
public class HealthTests : HostFixture
{
    // The host logs a check that is Unhealthy as an error.
    private const int CheckFailed = 103;

    private static readonly string s_conformance = Conformance.Descriptor.FullName;

    private readonly Dictionary<string, HealthStatus> _results = new()
    {
        ["disk"] = HealthStatus.Healthy,
        ["queue"] = HealthStatus.Healthy,
    };

    [SetUp]
    public void ExpectFailedChecks() => Host.Log.Expect(CheckFailed);

    [TestCase(HealthStatus.Healthy, ServingStatus.Serving)]
    [TestCase(HealthStatus.Degraded, ServingStatus.Serving)]
    [TestCase(HealthStatus.Unhealthy, ServingStatus.NotServing)]
    public async Task Check_OfServerAndService_IsTheResultOfAllChecks(HealthStatus result, ServingStatus expected)
    {
        AddChecks();
        Host.Services.AddShmServer(Host.Address).AddService<TestService>().AddHealth();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        _results["queue"] = result;

        Assert.That(await StatusAsync(channel, ""), Is.EqualTo(expected));
        Assert.That(await StatusAsync(channel, s_conformance), Is.EqualTo(expected));
    }

    [Test]
    public async Task Check_WithoutAnyChecks_IsServing()
    {
        Host.Services.AddShmServer(Host.Address).AddHealth();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await StatusAsync(channel, ""), Is.EqualTo(ServingStatus.Serving));
    }

    [Test]
    public async Task Check_OfAnUnknownService_IsNotFound()
    {
        Host.Services.AddShmServer(Host.Address).AddHealth();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => StatusAsync(channel, "nobody").Bounded());

        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.NotFound));
    }

    [Test]
    public async Task Check_OfAMappedService_IsTheResultOfItsChecks()
    {
        AddChecks();
        Host.Services.AddShmServer(Host.Address).AddService<TestService>().AddHealth(health => health
            .Map(s_conformance, check => check.Tags.Contains("needed"))
            .Map("misspelt", check => check.Tags.Contains("neded")));
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        _results["queue"] = HealthStatus.Unhealthy;

        Assert.That(await StatusAsync(channel, s_conformance), Is.EqualTo(ServingStatus.Serving));
        Assert.That(await StatusAsync(channel, ""), Is.EqualTo(ServingStatus.NotServing));
        Assert.That(await StatusAsync(channel, "misspelt"), Is.EqualTo(ServingStatus.Unknown));
    }

    [Test]
    public async Task Watch_DuringReportsThatLackSomeChecks_ChangesOnlyWithItsOwnCheck()
    {
        AddChecks();
        Host.Services.AddShmServer(Host.Address).AddHealth(health => health
            .Map("of-disk", check => check.Name == "disk"));
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        using AsyncServerStreamingCall<HealthCheckResponse> watch = new Health.HealthClient(channel)
            .Watch(new HealthCheckRequest { Service = "of-disk" });
        Assert.That(await NextAsync(watch), Is.EqualTo(ServingStatus.Serving));

        // A report without the check of the watched service, one in which it fails, and again one without it.
        await PublishAsync("queue", HealthStatus.Unhealthy);
        await PublishAsync("disk", HealthStatus.Unhealthy);
        await PublishAsync("queue", HealthStatus.Healthy);
        await PublishAsync("disk", HealthStatus.Healthy);

        Assert.That(await NextAsync(watch), Is.EqualTo(ServingStatus.NotServing));
        Assert.That(await NextAsync(watch), Is.EqualTo(ServingStatus.Serving));
    }

    [Test]
    public async Task Watch_AfterTheStopBegan_IsNotServingAndEnds()
    {
        using var stopping = new CancellationTokenSource();
        var health = new ShmHealthService(stopping.Token);
        health.SetStatus("one", ServingStatus.Serving);
        await using var server = new ShmServer(Host.Address);
        server.Services.Add(Health.BindService(health));
        await server.StartAsync();
        using ShmChannel channel = Host.Open();
        await stopping.CancelAsync();

        using AsyncServerStreamingCall<HealthCheckResponse> watch = new Health.HealthClient(channel)
            .Watch(new HealthCheckRequest { Service = "one" });

        ServingStatus last = ServingStatus.Unknown;
        while (await watch.ResponseStream.MoveNext().Bounded())
        {
            last = watch.ResponseStream.Current.Status;
        }

        Assert.That(last, Is.EqualTo(ServingStatus.NotServing));
        Assert.That(watch.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [TestCase(HealthStatus.Healthy, HealthStatus.Healthy)]
    [TestCase(HealthStatus.Unhealthy, HealthStatus.Degraded)]
    public async Task ServerCheck_OfAServer_IsItsHealth(HealthStatus result, HealthStatus expected)
    {
        _results["disk"] = result;
        await using TestHost other = NewHost();
        AddChecks(other);
        other.Services.AddShmServer(other.Address).AddHealth();
        await other.StartAsync();
        Host.Services.AddHealthChecks().AddShmServer(other.Address, failureStatus: HealthStatus.Degraded);

        HealthReportEntry entry = await RunCheckAsync(other.Address);

        Assert.That(entry.Status, Is.EqualTo(expected));
    }

    [Test]
    public async Task ServerCheck_WithoutAServer_FailsAndSaysWhere()
    {
        Host.Services.AddHealthChecks().AddShmServer(Host.Address);

        HealthReportEntry entry = await RunCheckAsync(Host.Address);

        Assert.That(entry.Status, Is.EqualTo(HealthStatus.Unhealthy));
        Assert.That(entry.Description, Does.Contain(Host.Address).And.Contains("Unavailable"));
    }

    [Test]
    public async Task ServerCheck_OfAServerWithoutHealth_FailsAndSaysWhatToDo()
    {
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
        await Host.StartAsync();
        _ = Host.Server;
        await using TestHost other = NewHost();
        other.Services.AddHealthChecks().AddShmServer(Host.Address, name: "named");

        HealthReport report = await other.Provider.GetRequiredService<HealthCheckService>()
            .CheckHealthAsync().Bounded();

        Assert.That(report.Entries["named"].Status, Is.EqualTo(HealthStatus.Unhealthy));
        Assert.That(report.Entries["named"].Description, Does.Contain("AddHealth()"));
    }

    [Test]
    public async Task ServerCheck_OfAServerThatDoesNotAnswer_EndsByItself()
    {
        await using var server = new ShmServer(Host.Address);
        server.Services.Add(Health.BindService(new SilentHealth()));
        await server.StartAsync();
        Host.Services.AddHealthChecks()
            .AddShmServer(Host.Address, "deep", timeout: TimeSpan.FromMilliseconds(50));

        HealthReportEntry entry = await RunCheckAsync($"{Host.Address} deep");

        Assert.That(entry.Status, Is.EqualTo(HealthStatus.Unhealthy));
        Assert.That(entry.Description, Does.Contain("0.05 s"));
    }

    [Test]
    public async Task ChannelCheck_WithAndWithoutAServer_FollowsIt()
    {
        Host.Services.AddKeyedShmChannel("key", Host.Address);
        Host.Services.AddHealthChecks().AddShmChannel("key", timeout: TimeSpan.FromSeconds(2));

        HealthReportEntry without = await RunCheckAsync("key");
        await using var server = new ShmServer(Host.Address);
        await server.StartAsync();
        await Timeouts.Eventually(() => RunCheckAsync("key").GetAwaiter().GetResult().Status == HealthStatus.Healthy);

        Assert.That(without.Status, Is.EqualTo(HealthStatus.Unhealthy));
        Assert.That(without.Description, Does.Contain(Host.Address).And.Contains("No server"));
    }

    [Test]
    public async Task ChannelCheck_WithAKeyThatNobodyHas_FailsAlone()
    {
        Host.Services.AddHealthChecks()
            .AddShmChannel("keey", "wrong")
            .AddCheck("right", () => HealthCheckResult.Healthy());

        HealthReportEntry wrong = await RunCheckAsync("wrong");

        Assert.That(wrong.Status, Is.EqualTo(HealthStatus.Unhealthy));
        Assert.That(wrong.Description, Does.Contain("no channel with the key 'keey'"));
        Assert.That((await RunCheckAsync("right")).Status, Is.EqualTo(HealthStatus.Healthy));
    }

    private static TestHost NewHost()
    {
        var host = new TestHost();
        host.Log.Expect(CheckFailed);
        return host;
    }

    private static async Task<ServingStatus> StatusAsync(ShmChannel channel, string service) =>
        (await new Health.HealthClient(channel).CheckAsync(new HealthCheckRequest { Service = service })
            .ResponseAsync.Bounded()).Status;

    private static async Task<ServingStatus> NextAsync(AsyncServerStreamingCall<HealthCheckResponse> watch)
    {
        Assert.That(await watch.ResponseStream.MoveNext().Bounded(), Is.True);
        return watch.ResponseStream.Current.Status;
    }

    private void AddChecks(TestHost? host = null) => (host ?? Host).Services.AddHealthChecks()
        .AddCheck("disk", () => new HealthCheckResult(_results["disk"]), ["needed"])
        .AddCheck("queue", () => new HealthCheckResult(_results["queue"]));

    private Task PublishAsync(string check, HealthStatus status)
    {
        var entry = new HealthReportEntry(status, null, TimeSpan.Zero, null, null);
        var report = new HealthReport(
            new Dictionary<string, HealthReportEntry> { [check] = entry }, TimeSpan.Zero);
        return Host.Provider.GetRequiredService<HealthPublisher>().PublishAsync(report, CancellationToken.None);
    }

    private async Task<HealthReportEntry> RunCheckAsync(string name) =>
        (await Host.Provider.GetRequiredService<HealthCheckService>().CheckHealthAsync().Bounded()).Entries[name];

    private sealed class SilentHealth : Health.HealthBase
    {
        public override async Task<HealthCheckResponse> Check(HealthCheckRequest request, ServerCallContext context)
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
            return new HealthCheckResponse();
        }
    }
}
