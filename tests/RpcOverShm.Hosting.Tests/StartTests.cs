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
        _host.Services.AddShmServer(_host.Address, options => options.MaxQueuedCalls = 7).Bind(_host.Section(
            ("MaxConcurrentCalls", "3"),
            ("HandshakeTimeout", "00:00:02"),
            ("ResponseCompressionLevel", "SmallestSize"),
            ("Scheduling", "ThreadPool"),
            ("EnableDetailedErrors", "true")));

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);

        Assert.That(options.MaxConcurrentCalls, Is.EqualTo(3));
        Assert.That(options.HandshakeTimeout, Is.EqualTo(TimeSpan.FromSeconds(2)));
        Assert.That(options.ResponseCompressionLevel, Is.EqualTo(System.IO.Compression.CompressionLevel.SmallestSize));
        Assert.That(options.Scheduling, Is.EqualTo(ShmSchedulingMode.ThreadPool));
        Assert.That(options.EnableDetailedErrors, Is.True);
        Assert.That(options.MaxQueuedCalls, Is.EqualTo(7), "Set in code, and not in the section.");
        Assert.That(options.LoggerFactory, Is.SameAs(_host.Log));
    }

    [Test]
    public void Configure_WithServices_SetsTheOptionsInOrder()
    {
        _host.Services.AddSingleton(new Version(3, 1));
        _host.Services.AddShmServer(_host.Address, options => options.MaxConcurrentCalls = 1)
            .Configure((provider, options) =>
                options.MaxConcurrentCalls += provider.GetRequiredService<Version>().Major);

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);

        Assert.That(options.MaxConcurrentCalls, Is.EqualTo(4));
    }

    [Test]
    public async Task Bind_BeforeALowerLimitInCode_LeavesTheOptionThatFollowsIt()
    {
        _host.Services.AddShmServer(_host.Address).Bind(_host.Section(("MaxQueuedCalls", "5")))
            .Configure(options => options.MaxConnections = 10);

        await _host.StartAsync();

        ShmServerOptions options = _host.Provider.GetRequiredService<IOptionsMonitor<ShmServerOptions>>()
            .Get(_host.Address);
        Assert.That(options.MaxConnectionsPerProcess, Is.EqualTo(10));
    }

    [TestCase("MaxConcurentCalls", "3", "MaxConcurentCalls", Description = "A misspelt name")]
    [TestCase("MaxQueuedCalls", "many", "MaxQueuedCalls")]
    [TestCase("Codecs:0", "json", "Codecs")]
    [TestCase("AllowedUsers", "alice", "'AllowedUsers' is a list: write [\"alice\"], or AllowedUsers__0=alice")]
    [TestCase("RequestHeadTimeout", " 30", "30 days")]
    public void Bind_OfABadSection_FailsTheStartAndNamesTheKey(string key, string value, string named)
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address).Bind(_host.Section((key, value)));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(named).And.Contains("'Section'").And.Contains(_host.Address));
    }

    [TestCase(typeof(ShmServerOptions))]
    [TestCase(typeof(ShmChannelOptions))]
    public void Bind_OfEachOption_SetsItOrSaysThatItIsSetInCode(Type options)
    {
        IReadOnlyList<string> inCode = options == typeof(ShmServerOptions)
            ? BoundOptions.OfServersInCode
            : BoundOptions.OfChannelsInCode;

        // An interface, a delegate, an abstract class or a list of those has no text.
        IEnumerable<string> without = options.GetProperties()
            .Where(one => !HasText(one.PropertyType) && !one.PropertyType.GetGenericArguments().Any(HasText))
            .Select(one => one.Name);

        Assert.That(inCode, Is.EquivalentTo(without));

        static bool HasText(Type type) => type.IsValueType
            || type == typeof(string)
            || type == typeof(ShmServiceConfig)
            || type == typeof(ShmCallbackOptions);
    }

    [Test]
    public void Bind_OfABadSectionOfAClient_FailsTheStartAndNamesTheKey()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmClient<Conformance.ConformanceClient>(_host.Address)
            .Bind(_host.Section(("ConectTimeout", "3")));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("ConectTimeout"));
    }

    [Test]
    public void Options_ThatContradictEachOther_FailTheStartAndAreNamed()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmServer(_host.Address)
            .Bind(_host.Section(("MaxConnections", "10"), ("MaxConnectionsPerProcess", "11")));

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("MaxConnectionsPerProcess is at most MaxConnections"));
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
            _host.Address, options => options.ConnectTimeout = TimeSpan.Zero);

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain("ConnectTimeout"));
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
