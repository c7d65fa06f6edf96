using System.Text;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Options from code and from the configuration, and hosts that do not start.</summary>
public class StartTests
{
    // The host logs that it failed to start.
    private const int HostFailed = 11;

    private TestHost _host = null!;

    [SetUp]
    public void CreateHost() => _host = new TestHost();

    [TearDown]
    public async Task DisposeHost() => await _host.DisposeAsync();

    [Test]
    public void Bind_OfAllKinds_SetsTheOptions()
    {
        _host.Services.AddShmServer(
            _host.Address, options => options.Limits.MaxQueuedCallsPerConnection = 7).Bind(_host.Section(
            ("Limits:MaxConcurrentCalls", "3"),
            ("Listen:HandshakeTimeout", "00:00:02"),
            ("Listen:RuntimeDirectory", "/run/never-made"),
            ("Listen:AllowedUsers:0", "0"),
            ("Limits:MaxConnectionBufferSize", "8000000"),
            ("Ring:Capacity", "131072"),
            ("ResponseCompressionLevel", "SmallestSize"),
            ("Scheduling", "ThreadPool"),
            ("EnableDetailedErrors", "true")));

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);

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
        Assert.That(options.LoggerFactory, Is.SameAs(_host.Log));
    }

    [Test]
    public void Configure_WithServices_SetsTheOptionsInOrder()
    {
        _host.Services.AddSingleton(new Version(3, 1));
        _host.Services.AddShmServer(_host.Address, options => options.Limits.MaxConcurrentCalls = 1)
            .Configure((provider, options) =>
                options.Limits.MaxConcurrentCalls += provider.GetRequiredService<Version>().Major);

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);

        Assert.That(options.Limits.MaxConcurrentCalls, Is.EqualTo(4));
    }

    [Test]
    public async Task Bind_BeforeALowerLimitInCode_LeavesTheOptionThatFollowsIt()
    {
        _host.Services.AddShmServer(_host.Address).Bind(_host.Section(("Listen:MaxConnectionsPerUser", "5")))
            .Configure(options => options.Listen.MaxConnections = 10);

        await _host.StartAsync();

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);
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
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address).Bind(_host.Section((key, value)));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(named).And.Contains("'Section'").And.Contains(_host.Address));
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
        _host.Services.AddShmServer(_host.Address, options =>
        {
            options.Ring.Capacity = 64 << 10;
            options.Listen.MaxConnections = 5;
            options.Limits.MaxCallbackDepth = 3;
        }).Bind(json.GetSection("S"));

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);

        Assert.That(
            (options.Ring.Capacity, options.Listen.MaxConnections, options.Limits.MaxCallbackDepth),
            Is.EqualTo((64 << 10, 5, 3)));
    }

    [Test]
    public void Bind_OfABadSectionOfAClient_FailsTheStartAndNamesTheKey()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmClient<Conformance.ConformanceClient>(_host.Address)
            .Bind(_host.Section(("Connect:Timeot", "3")));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("Timeot"));
    }

    [Test]
    public void Options_ThatContradictEachOther_FailTheStartAndAreNamed()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address)
            .Bind(_host.Section(("Listen:MaxConnections", "10"), ("Listen:MaxConnectionsPerProcess", "11")));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("Listen.MaxConnectionsPerProcess is at most Listen.MaxConnections"));
    }

    [Test]
    public void Options_OfAServiceThatContradictEachOther_FailTheStartAndAreNamed()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address)
            .AddService<TestService>(options => options.MaxConcurrentCallsPerInstance = 1);

        ArgumentException? failure = Assert.CatchAsync<ArgumentException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("MaxConcurrentCallsPerInstance").And.Contains("Lifetime"));
    }

    [Test]
    public void Options_OfAClientThatAreNotAllowed_FailTheStartAndAreNamed()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmClient<Conformance.ConformanceClient>(
            _host.Address, options => options.Connect.Timeout = TimeSpan.Zero);

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("Connect.Timeout is above zero"));
    }

    [Test]
    public void Address_ThatIsNone_FailsTheStart()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer("http://localhost");

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("http://localhost"));
    }

    [Test]
    public async Task Address_ThatAnotherServerHolds_FailsTheStartAndIsNamed()
    {
        await using var holder = new ShmServer(_host.Address);
        await holder.StartAsync();
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address);

        ShmTransportException? failure = Assert.CatchAsync<ShmTransportException>(_host.StartAsync);

        Assert.That(failure!.Error, Is.EqualTo(ShmTransportError.AddressInUse));
        Assert.That(failure.Message, Does.Contain(_host.Address));
    }

    [Test]
    public void Server_AddedTwice_IsOneServer()
    {
        _host.Services.AddShmServer(_host.Address).AddService<TestService>();
        _host.Services.AddShmServer(_host.Address).AddService<RecordsService>();

        Assert.That(_host.Server.Services, Has.Count.EqualTo(2));
        Assert.That(_host.Provider.GetServices<Microsoft.Extensions.Hosting.IHostedService>().ToList(), Has.One.Items);
    }

    [Test]
    public void Server_AddedTwiceWithTwoAddresses_IsRefused()
    {
        _host.Services.AddShmServer("name", "shm://one");

        ArgumentException? failure = Assert.Catch<ArgumentException>(
            () => _host.Services.AddShmServer("name", "shm://two"));

        Assert.That(failure!.Message, Does.Contain("shm://one").And.Contains("shm://two").And.Contains("'name'"));
    }

    [Test]
    public void Interceptor_OfAServiceThatIsNotThere_FailsTheStart()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address).AddInterceptor<NotingInterceptor, TestService>();

        InvalidOperationException? failure = Assert.CatchAsync<InvalidOperationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(nameof(TestService)));
    }
}
