using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using ConformanceClient = RpcOverShm.Testing.Protos.Conformance.ConformanceClient;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The channel of a client, and its address.</summary>
public class ClientChannelTests : HostFixture
{
    // The host logs that it failed to start.
    private const int HostFailed = 11;

    [SetUp]
    public void AddServer()
    {
        Host.Methods.Echo = (_, context) => Task.FromResult(context.Peer);
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
    }

    [Test]
    public async Task Channel_OfAClient_HasItsTypeAndItsNameAsKeys()
    {
        ShmClientBuilder builder = Host.Services.AddShmClient<ConformanceClient>(Host.Address);
        await Host.StartAsync();

        ShmChannel channel = Host.Provider.GetRequiredKeyedService<ShmChannel>(typeof(ConformanceClient));
        string session = await channel.AskAsync().Bounded();

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Ready));
        Assert.That(Host.Provider.GetRequiredKeyedService<ShmChannel>(builder.Name), Is.SameAs(channel));
        Assert.That(
            await Host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded(), Is.EqualTo(session));
    }

    [Test]
    public async Task Channels_OfClientsWithNames_HaveTheNamesAsKeys()
    {
        Host.Services.AddShmClient<ConformanceClient>("a", Host.Address);
        Host.Services.AddShmClient<ConformanceClient>("b", _ => Host.Address);
        await Host.StartAsync();

        ShmChannel a = Host.Provider.GetRequiredKeyedService<ShmChannel>("a");
        ShmChannel b = Host.Provider.GetRequiredKeyedService<ShmChannel>("b");

        Assert.That(a, Is.Not.SameAs(b));
        Assert.That(await SessionOf("a"), Is.EqualTo(await a.AskAsync().Bounded()));
        Assert.That(await SessionOf("b"), Is.EqualTo(await b.AskAsync().Bounded()));
        Assert.That(
            Host.Provider.GetKeyedService<ShmChannel>(typeof(ConformanceClient)), Is.Null,
            "None was added without a name.");

        Task<string> SessionOf(string name) =>
            Host.Provider.GetRequiredKeyedService<ConformanceClient>(name).AskAsync().Bounded();
    }

    [Test]
    public async Task Channel_OfAClient_MakesOneWayCalls()
    {
        var called = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Host.Methods.Echo = (_, _) =>
        {
            called.SetResult();
            return Task.FromResult("");
        };
        Host.Services.AddShmClient<ConformanceClient>(Host.Address);
        Host.Services.AddSingleton<Notifier>();
        await Host.StartAsync();

        await Host.Provider.GetRequiredService<Notifier>().Client.AskAsync().Bounded();

        await called.Task.Bounded();
    }

    [Test]
    public async Task Channel_OfAClient_IsShutDownWithTheContainer()
    {
        Host.Services.AddShmClient<ConformanceClient>(Host.Address);
        await Host.StartAsync();
        await Host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded();
        ShmChannel channel = Host.Provider.GetRequiredKeyedService<ShmChannel>(typeof(ConformanceClient));

        await Host.DisposeAsync();

        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Shutdown));
        Host = new TestHost();
    }

    [Test]
    public async Task HealthCheck_OfAClientsChannel_ConnectsIt()
    {
        Host.Services.AddShmClient<ConformanceClient>(Host.Address);
        Host.Services.AddHealthChecks().AddShmChannel(typeof(ConformanceClient));
        await Host.StartAsync();

        HealthReport report =
            await Host.Provider.GetRequiredService<HealthCheckService>().CheckHealthAsync().Bounded();

        Assert.That(report.Entries.Single().Key, Is.EqualTo(typeof(ConformanceClient).FullName));
        Assert.That(report.Status, Is.EqualTo(HealthStatus.Healthy));
        Assert.That(
            Host.Provider.GetRequiredKeyedService<ShmChannel>(typeof(ConformanceClient)).State,
            Is.EqualTo(ConnectivityState.Ready));
    }

    [Test]
    public void Name_ThatIsTheKeyOfAnotherChannel_IsRefused([Values] bool isClientFirst)
    {
        Action client = () => Host.Services.AddShmClient<ConformanceClient>("name", Host.Address);
        Action channel = () => Host.Services.AddKeyedShmChannel("name", Host.Address);
        (isClientFirst ? client : channel)();

        Assert.That(
            () => (isClientFirst ? channel : client)(),
            Throws.ArgumentException.With.Message.Contains("'name' has a channel already"));
    }

    [Test]
    public async Task Address_OfAFunction_ComesFromTheContainer()
    {
        Host.Services.AddSingleton(new Place(Host.Address));
        Host.Services.AddShmClient<ConformanceClient>(
            provider => provider.GetRequiredService<Place>().Address,
            options => options.MaxSendMessageSize = 100);
        await Host.StartAsync();

        string session = await Host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded();

        Assert.That(session, Does.StartWith("shm:"));
    }

    [Test]
    public void Address_OfOneFunctionTwice_IsOneClient_AndOfAnotherIsRefused()
    {
        Func<IServiceProvider, string> address = _ => Host.Address;
        Host.Services.AddShmClient<ConformanceClient>(address);
        Host.Services.AddShmClient<ConformanceClient>(address);

        Assert.That(
            () => Host.Services.AddShmClient<ConformanceClient>(_ => "shm://other"),
            Throws.ArgumentException.With.Message.Contains("(from a function)"));
        Assert.That(Host.Provider.GetServices<ConformanceClient>().ToList(), Has.One.Items);
    }

    [TestCase(null, "returned none")]
    [TestCase("", "returned none")]
    [TestCase("http://localhost", "http://localhost")]
    public void Address_OfAFunctionThatReturnsNone_FailsTheStart(string? returned, string named)
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmClient<ConformanceClient>("caller", _ => returned!);

        OptionsValidationException? failure = Assert.CatchAsync<OptionsValidationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(named).And.Contains("'caller'"));
    }

    [Test]
    public void Address_OfAFunctionThatThrows_FailsTheStart()
    {
        Host.Log.Expect(HostFailed);
        Host.Services.AddShmClient<ConformanceClient>(provider => provider.GetRequiredService<Place>().Address);

        InvalidOperationException? failure = Assert.CatchAsync<InvalidOperationException>(Host.StartAsync);

        Assert.That(failure!.Message, Does.Contain(nameof(Place)));
    }

    private sealed record Place(string Address);

    /// <summary>Gets the channel of a client injected, for one-way calls.</summary>
    private sealed class Notifier([FromKeyedServices(typeof(ConformanceClient))] ShmChannel channel)
    {
        public ConformanceClient Client { get; } = new(channel.CreateOneWayInvoker());
    }
}
