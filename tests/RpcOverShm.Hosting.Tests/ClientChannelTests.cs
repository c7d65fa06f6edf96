using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using ConformanceClient = RpcOverShm.Testing.Protos.Conformance.ConformanceClient;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The channel of a client, and its address.</summary>
public class ClientChannelTests
{
    // The host logs that it failed to start.
    private const int HostFailed = 11;

    private TestHost _host = null!;

    [SetUp]
    public void CreateHost()
    {
        _host = new TestHost();
        _host.Methods.Echo = (_, context) => Task.FromResult(context.Peer);
        _host.Services.AddShmServer(_host.Address).AddService<TestService>();
    }

    [TearDown]
    public async Task DisposeHost() => await _host.DisposeAsync();

    [Test]
    public async Task Channel_OfAClient_HasItsTypeAndItsNameAsKeys()
    {
        ShmClientBuilder builder = _host.Services.AddShmClient<ConformanceClient>(_host.Address);
        await _host.StartAsync();

        ShmChannel channel = _host.Provider.GetRequiredKeyedService<ShmChannel>(typeof(ConformanceClient));
        string session = await channel.AskAsync().Bounded();

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
        Assert.That(_host.Provider.GetRequiredKeyedService<ShmChannel>(builder.Name), Is.SameAs(channel));
        Assert.That(
            await _host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded(), Is.EqualTo(session));
    }

    [Test]
    public async Task Channels_OfClientsWithNames_HaveTheNamesAsKeys()
    {
        _host.Services.AddShmClient<ConformanceClient>("a", _host.Address);
        _host.Services.AddShmClient<ConformanceClient>("b", _ => _host.Address);
        await _host.StartAsync();

        ShmChannel a = _host.Provider.GetRequiredKeyedService<ShmChannel>("a");
        ShmChannel b = _host.Provider.GetRequiredKeyedService<ShmChannel>("b");

        Assert.That(a, Is.Not.SameAs(b));
        Assert.That(await SessionOf("a"), Is.EqualTo(await a.AskAsync().Bounded()));
        Assert.That(await SessionOf("b"), Is.EqualTo(await b.AskAsync().Bounded()));
        Assert.That(
            _host.Provider.GetKeyedService<ShmChannel>(typeof(ConformanceClient)), Is.Null,
            "None was added without a name.");

        Task<string> SessionOf(string name) =>
            _host.Provider.GetRequiredKeyedService<ConformanceClient>(name).AskAsync().Bounded();
    }

    [Test]
    public async Task Channel_OfAClient_MakesOneWayCalls()
    {
        var called = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _host.Methods.Echo = (_, _) =>
        {
            called.SetResult();
            return Task.FromResult("");
        };
        _host.Services.AddShmClient<ConformanceClient>(_host.Address);
        _host.Services.AddSingleton<Notifier>();
        await _host.StartAsync();

        await _host.Provider.GetRequiredService<Notifier>().Client.AskAsync().Bounded();

        await called.Task.Bounded();
    }

    [Test]
    public async Task Channel_OfAClient_IsShutDownWithTheContainer()
    {
        _host.Services.AddShmClient<ConformanceClient>(_host.Address);
        await _host.StartAsync();
        await _host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded();
        ShmChannel channel = _host.Provider.GetRequiredKeyedService<ShmChannel>(typeof(ConformanceClient));

        await _host.DisposeAsync();

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Shutdown));
        _host = new TestHost();
    }

    [Test]
    public async Task HealthCheck_OfAClientsChannel_ConnectsIt()
    {
        _host.Services.AddShmClient<ConformanceClient>(_host.Address);
        _host.Services.AddHealthChecks().AddShmChannel(typeof(ConformanceClient));
        await _host.StartAsync();

        HealthReport report =
            await _host.Provider.GetRequiredService<HealthCheckService>().CheckHealthAsync().Bounded();

        Assert.That(report.Entries.Single().Key, Is.EqualTo(typeof(ConformanceClient).FullName));
        Assert.That(report.Status, Is.EqualTo(HealthStatus.Healthy));
        Assert.That(
            _host.Provider.GetRequiredKeyedService<ShmChannel>(typeof(ConformanceClient)).State,
            Is.EqualTo(ConnectivityState.Ready));
    }

    [Test]
    public void Name_ThatIsTheKeyOfAnotherChannel_IsRefused([Values] bool isClientFirst)
    {
        Action client = () => _host.Services.AddShmClient<ConformanceClient>("name", _host.Address);
        Action channel = () => _host.Services.AddKeyedShmChannel("name", _host.Address);
        (isClientFirst ? client : channel)();

        Assert.That(
            () => (isClientFirst ? channel : client)(),
            Throws.ArgumentException.With.Message.Contains("'name' has a channel already"));
    }

    [Test]
    public async Task Address_OfAFunction_ComesFromTheContainer()
    {
        _host.Services.AddSingleton(new Place(_host.Address));
        _host.Services.AddShmClient<ConformanceClient>(
            provider => provider.GetRequiredService<Place>().Address,
            options => options.MaxSendMessageSize = 100);
        await _host.StartAsync();

        string session = await _host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded();

        Assert.That(session, Does.StartWith("shm:"));
    }

    [Test]
    public void Address_OfOneFunctionTwice_IsOneClient_AndOfAnotherIsRefused()
    {
        Func<IServiceProvider, string> address = _ => _host.Address;
        _host.Services.AddShmClient<ConformanceClient>(address);
        _host.Services.AddShmClient<ConformanceClient>(address);

        Assert.That(
            () => _host.Services.AddShmClient<ConformanceClient>(_ => "shm://other"),
            Throws.ArgumentException.With.Message.Contains("(from a function)"));
        Assert.That(_host.Provider.GetServices<ConformanceClient>().ToList(), Has.One.Items);
    }

    [TestCase(null, "returned none")]
    [TestCase("", "returned none")]
    [TestCase("http://localhost", "http://localhost")]
    public void Address_OfAFunctionThatReturnsNone_FailsTheStart(string? returned, string named)
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmClient<ConformanceClient>("caller", _ => returned!);

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(named).And.Contains("'caller'"));
    }

    [Test]
    public void Address_OfAFunctionThatThrows_FailsTheStart()
    {
        _host.Log.Expect(HostFailed);
        _host.Services.AddShmClient<ConformanceClient>(provider => provider.GetRequiredService<Place>().Address);

        InvalidOperationException? failure = Assert.CatchAsync<InvalidOperationException>(_host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(nameof(Place)));
    }

    private sealed record Place(string Address);

    /// <summary>Gets the channel of a client injected, for one-way calls.</summary>
    private sealed class Notifier([FromKeyedServices(typeof(ConformanceClient))] ShmChannel channel)
    {
        public ConformanceClient Client { get; } = new(channel.CreateOneWayInvoker());
    }
}
