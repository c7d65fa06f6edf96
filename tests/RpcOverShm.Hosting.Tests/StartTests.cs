using System.Text;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Options from code and from the configuration, and hosts that do not start.</summary>
public class StartTests : HostFixture
{
    // The host logs that it failed to start.
    private const int HostFailed = 11;

    [Test]
    public void Bind_OfAllKinds_SetsTheOptions()
    {
        Host.Services.AddShmServer(
            Host.Address, options => options.Limits.MaxQueuedCallsPerConnection = 7).Bind(Host.Section(
            ("Limits:MaxConcurrentCalls", "3"),
            ("Listen:HandshakeTimeout", "00:00:02"),
            ("Listen:RuntimeDirectory", "/run/never-made"),
            ("Listen:AllowedUsers:0", "0"),
            ("Limits:MaxConnectionBufferSize", "8000000"),
            ("Ring:Capacity", "131072"),
            ("ResponseCompressionLevel", "SmallestSize"),
            ("Scheduling", "ThreadPool"),
            ("EnableDetailedErrors", "true")));

        ShmServerOptions options = Host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(Host.Address);

        Assert.That(options.Limits.MaxConcurrentCalls, Is.EqualTo(3));
        Assert.That(options.Listen.HandshakeTimeout, Is.EqualTo(TimeSpan.FromSeconds(2)));
        Assert.That(options.ResponseCompressionLevel, Is.EqualTo(System.IO.Compression.CompressionLevel.SmallestSize));
        Assert.That(options.Listen.AllowedUsers, Is.EqualTo(new[] { "0" }));
        Assert.That(options.Limits.MaxConnectionBufferSize, Is.EqualTo(8_000_000));
        Assert.That(options.Ring.Capacity, Is.EqualTo(128 << 10));
        Assert.That(options.Ring.MaxPeerCapacity, Is.EqualTo(16 << 20), "In the group, and not in the section.");
        Assert.That(options.Scheduling, Is.EqualTo(ShmSchedulingMode.ThreadPool));
        Assert.That(options.EnableDetailedErrors, Is.True);
        Assert.That(options.Limits.MaxQueuedCallsPerConnection, Is.EqualTo(7), "Set in code, and not in the section.");
        Assert.That(options.LoggerFactory, Is.SameAs(Host.Log));
    }

    [Test]
    public void Configure_WithServices_SetsTheOptionsInOrder()
    {
        Host.Services.AddSingleton(new Version(3, 1));
        Host.Services.AddShmServer(Host.Address, options => options.Limits.MaxConcurrentCalls = 1)
            .Configure((provider, options) =>
                options.Limits.MaxConcurrentCalls += provider.GetRequiredService<Version>().Major);

        ShmServerOptions options = Host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(Host.Address);

        Assert.That(options.Limits.MaxConcurrentCalls, Is.EqualTo(4));
    }

    [Test]
    public async Task Bind_BeforeALowerLimitInCode_LeavesTheOptionThatFollowsIt()
    {
        Host.Services.AddShmServer(Host.Address).Bind(Host.Section(("Listen:MaxConnectionsPerUser", "5")))
            .Configure(options => options.Listen.MaxConnections = 10);

        await Host.StartAsync();

        ShmServerOptions options = Host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(Host.Address);
        Assert.That(options.Listen.MaxConnectionsPerProcess, Is.Null);
    }

    [TestCase("Limits:MaxConcurentCalls", "3", "MaxConcurentCalls", Description = "A misspelt name")]
    [TestCase("Limits:MaxQueuedCallsPerConnection", "many", "MaxQueuedCallsPerConnection")]
    [TestCase("Limits", "many", "'Limits' is a group of options")]
    [TestCase("Codecs:0", "json", "Codecs")]
    [TestCase("Listen:AllowedUsers", "alice", "'AllowedUsers' is a list: write [\"alice\"], or AllowedUsers__0=alice")]
    [TestCase("Limits:RequestHeadTimeout", " 30", "30 days")]
    public void Bind_OfABadSection_FailsTheStartAndNamesTheKey(string key, string value, string named)
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmServer(Host.Address).Bind(Host.Section((key, value)));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(named).And.Contains("'Section'").And.Contains(Host.Address));
    }

    [TestCase(typeof(ShmServerOptions))]
    [TestCase(typeof(ShmChannelOptions))]
    [TestCase(typeof(ShmCallbackOptions))]
    [TestCase(typeof(ShmListenOptions))]
    [TestCase(typeof(ShmServerLimits))]
    [TestCase(typeof(ShmConnectOptions))]
    [TestCase(typeof(ShmRingOptions))]
    public void Bind_OfEachOption_SetsItOrSaysThatItIsSetInCode(Type options)
    {
        // An interface, a delegate, an abstract class or a list of those has no text. A group has a constructor.
        IEnumerable<string> without = options.GetProperties()
            .Where(one => !HasText(one.PropertyType) && !one.PropertyType.GetGenericArguments().Any(HasText))
            .Select(one => one.Name);

        Assert.That(BoundOptions.InCode.GetValueOrDefault(options, []), Is.EquivalentTo(without));

        static bool HasText(Type type) => type.IsValueType
            || type == typeof(string)
            || (type.Namespace == nameof(RpcOverShm) && type.GetConstructor([]) is not null);
    }

    [Test]
    public void Bind_OfAnEmptyGroup_LeavesItsOptions(
        [Values("Limits", "Listen", "Ring")] string group, [Values("{}", "null", "\"\"")] string value)
    {
        IConfigurationRoot json = new ConfigurationBuilder()
            .AddJsonStream(new MemoryStream(Encoding.UTF8.GetBytes($$"""{ "S": { "{{group}}": {{value}} } }""")))
            .Build();
        Host.Services.AddShmServer(Host.Address, options =>
        {
            options.Ring.Capacity = 64 << 10;
            options.Listen.MaxConnections = 5;
            options.Limits.MaxCallbackDepth = 3;
        }).Bind(json.GetSection("S"));

        ShmServerOptions options = Host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(Host.Address);

        Assert.That(
            (options.Ring.Capacity, options.Listen.MaxConnections, options.Limits.MaxCallbackDepth),
            Is.EqualTo((64 << 10, 5, 3)));
    }

    [Test]
    public void Bind_OfABadSectionOfAClient_FailsTheStartAndNamesTheKey()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmClient<Conformance.ConformanceClient>(Host.Address)
            .Bind(Host.Section(("Connect:Timeot", "3")));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("Timeot"));
    }

    [Test]
    public void Options_ThatContradictEachOther_FailTheStartAndAreNamed()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmServer(Host.Address)
            .Bind(Host.Section(("Listen:MaxConnections", "10"), ("Listen:MaxConnectionsPerProcess", "11")));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("Listen.MaxConnectionsPerProcess is at most Listen.MaxConnections"));
    }

    [Test]
    public void Options_OfAServiceThatContradictEachOther_FailTheStartAndAreNamed()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmServer(Host.Address)
            .AddService<TestService>(options => options.MaxConcurrentCallsPerInstance = 1);

        ArgumentException? failure = Assert.CatchAsync<ArgumentException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("MaxConcurrentCallsPerInstance").And.Contains("Lifetime"));
    }

    [Test]
    public void Options_OfAClientThatAreNotAllowed_FailTheStartAndAreNamed()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmClient<Conformance.ConformanceClient>(
            Host.Address, options => options.Connect.Timeout = TimeSpan.Zero);

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("Connect.Timeout is above zero"));
    }

    [Test]
    public void Address_ThatIsNone_FailsTheStart()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmServer("http://localhost");

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("http://localhost"));
    }

    [Test]
    public async Task Address_ThatAnotherServerHolds_FailsTheStartAndIsNamed()
    {
        await using var holder = new ShmServer(Host.Address);
        await holder.StartAsync();
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmServer(Host.Address);

        ShmTransportException? failure = Assert.CatchAsync<ShmTransportException>(Host.StartAsync);

        Assert.That(failure!.Error, Is.EqualTo(ShmTransportError.AddressInUse));
        Assert.That(failure.Message, Does.Contain(Host.Address));
    }

    [Test]
    public void Server_AddedTwice_IsOneServer()
    {
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
        Host.Services.AddShmServer(Host.Address).AddService<RecordsService>();

        Assert.That(Host.Server.Services, Has.Count.EqualTo(2));
        Assert.That(Host.Provider.GetServices<Microsoft.Extensions.Hosting.IHostedService>().ToList(), Has.One.Items);
    }

    [Test]
    public void Server_AddedTwiceWithTwoAddresses_IsRefused()
    {
        Host.Services.AddShmServer("name", "shm://one");

        ArgumentException? failure = Assert.Catch<ArgumentException>(
            () => Host.Services.AddShmServer("name", "shm://two"));

        Assert.That(failure!.Message, Does.Contain("shm://one").And.Contains("shm://two").And.Contains("'name'"));
    }

    [Test]
    public void Interceptor_OfAServiceThatIsNotThere_FailsTheStart()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmServer(Host.Address).AddInterceptor<NotingInterceptor, TestService>();

        InvalidOperationException? failure = Assert.CatchAsync<InvalidOperationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(nameof(TestService)));
    }
}
