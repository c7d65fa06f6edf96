using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;
using ConformanceClient = RpcOverShm.Testing.Protos.Conformance.ConformanceClient;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Clients and channels from the container.</summary>
public class ClientTests : HostFixture
{
    [SetUp]
    public void AddServer() => Host.Services.AddShmServer(Host.Address).AddService<TestService>();

    [Test]
    public async Task Client_ByItsType_IsTransientAndSharesTheChannel()
    {
        var sessions = new HashSet<string>();
        Host.Methods.Echo = (_, context) => Task.FromResult(context.Peer);
        Host.Services.AddShmClient<ConformanceClient>(Host.Address);
        await Host.StartAsync();

        ConformanceClient first = Host.Provider.GetRequiredService<ConformanceClient>();
        ConformanceClient second = Host.Provider.GetRequiredService<ConformanceClient>();

        Assert.That(first, Is.Not.SameAs(second));
        sessions.Add(await first.AskAsync().Bounded());
        sessions.Add(await second.AskAsync().Bounded());
        Assert.That(sessions, Has.One.Items);
    }

    [Test]
    public async Task Clients_ByName_HaveChannelsOfTheirOwnAndComeFromFactoryOrKey()
    {
        Host.Methods.Echo = (_, context) => Task.FromResult(context.Peer);
        Host.Services.AddShmClient<ConformanceClient>("a", Host.Address);
        Host.Services.AddShmClient<ConformanceClient>("b", Host.Address);
        await Host.StartAsync();
        ShmClientFactory factory = Host.Provider.GetRequiredService<ShmClientFactory>();

        string a = await factory.CreateClient<ConformanceClient>("a").AskAsync().Bounded();
        string b = await factory.CreateClient<ConformanceClient>("b").AskAsync().Bounded();
        string keyed = await Host.Provider.GetRequiredKeyedService<ConformanceClient>("a").AskAsync().Bounded();

        Assert.That(b, Is.Not.EqualTo(a));
        Assert.That(keyed, Is.EqualTo(a));
    }

    [Test]
    public void Factory_AskedForAnUnknownName_SaysWhichThereAre()
    {
        Host.Services.AddShmClient<ConformanceClient>("a", Host.Address);
        ShmClientFactory factory = Host.Provider.GetRequiredService<ShmClientFactory>();

        Assert.That(
            () => factory.CreateClient<ConformanceClient>("b"),
            Throws.InvalidOperationException.With.Message.Contains("'b'").And.Message.Contains("there are: a."));
        Assert.That(
            () => factory.CreateClient<Records.RecordsClient>("a"),
            Throws.InvalidOperationException.With.Message.Contains("RecordsClient"));
    }

    [Test]
    public async Task Client_AddedTwice_HasTheInterceptorsOfBoth()
    {
        Host.Services.AddShmClient<ConformanceClient>(Host.Address).AddInterceptor(Noting("first"));
        Host.Services.AddShmClient<ConformanceClient>(Host.Address).AddInterceptor(Noting("second"));
        await Host.StartAsync();

        await Host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded();

        Assert.That(Host.Diary.Entries, Is.EqualTo(new[] { "first", "second" }));
    }

    [Test]
    public void Client_AddedTwiceWithTwoAddressesOrTypes_IsRefused()
    {
        Host.Services.AddShmClient<ConformanceClient>("name", "shm://one");

        Assert.That(
            () => Host.Services.AddShmClient<ConformanceClient>("name", "shm://two"),
            Throws.ArgumentException.With.Message.Contains("shm://one").And.Message.Contains("shm://two"));
        Assert.That(
            () => Host.Services.AddShmClient<Records.RecordsClient>("name", "shm://one"),
            Throws.ArgumentException.With.Message.Contains("RecordsClient"));
    }

    [Test]
    public void Client_OfATypeThatIsNone_IsRefused() => Assert.That(
        () => Host.Services.AddShmClient<ClientTests>(Host.Address),
        Throws.ArgumentException.With.Message.Contains("CallInvoker"));

    [Test]
    public async Task Client_OfTheApplication_GetsItsInvokerAndServices()
    {
        Host.Methods.Echo = (_, _) => Task.FromResult("answer");
        Host.Services.AddShmClient<OwnClient>(Host.Address);
        await Host.StartAsync();

        OwnClient client = Host.Provider.GetRequiredService<OwnClient>();

        Assert.That(client.Diary, Is.SameAs(Host.Diary));
        Assert.That(await new ConformanceClient(client.Invoker).AskAsync().Bounded(), Is.EqualTo("answer"));
    }

    [Test]
    public async Task Interceptors_OfClientAndChannel_RunInOrderAndAreMadeOnceForTheirScope()
    {
        int made = 0;
        Host.Services.AddShmClient<ConformanceClient>(Host.Address)
            .AddInterceptor(Noting("channel 1"))
            .AddInterceptor(
                provider =>
                {
                    made++;
                    return Noting("client 1")(provider);
                },
                ShmInterceptorScope.Client)
            .AddInterceptor(() => new ClientInterceptor(Host.Diary, "channel 2"))
            .AddInterceptor(Noting("client 2"), ShmInterceptorScope.Client)
            .AddInterceptor<PlainInterceptor>();
        await Host.StartAsync();

        _ = Host.Provider.GetRequiredService<ConformanceClient>();
        await Host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded();

        Assert.That(
            Host.Diary.Entries, Is.EqualTo(new[] { "client 1", "client 2", "channel 1", "channel 2", "plain" }));
        Assert.That(made, Is.EqualTo(2));
    }

    [Test]
    public async Task CallOptions_ThatAreConfigured_ReachTheServerWithAllCredentials()
    {
        Host.Methods.Echo = (_, context) => Task.FromResult(string.Join(
            ", ", context.RequestHeaders.Where(one => one.Key.StartsWith('x')).Select(one => one.Value).Order()));
        Host.Services.AddShmClient<ConformanceClient>(Host.Address)
            .ConfigureCallOptions((options, provider) =>
            {
                provider.GetRequiredService<Diary>().Note("configured");
                return options.WithHeaders(new Grpc.Core.Metadata { { "x-options", "options" } });
            })
            .AddCallCredentials((_, metadata, provider) =>
            {
                metadata.Add("x-added", provider.GetRequiredService<Diary>().Entries.Single());
                return Task.CompletedTask;
            })
            .AddCallCredentials((_, metadata) =>
            {
                metadata.Add("x-more", "more");
                return Task.CompletedTask;
            })
            .AddCallCredentials(Adding("last"));
        await Host.StartAsync();

        ConformanceClient client = Host.Provider.GetRequiredService<ConformanceClient>();
        string seen = await client.AskAsync(new CallOptions(credentials: Adding("own"))).Bounded();

        Assert.That(seen, Is.EqualTo("configured, last, more, options, own"));
    }

    [Test]
    public async Task Channel_OfTheOptions_HasThem()
    {
        Host.Methods.Echo = (_, _) => Task.FromResult(new string('x', 100));
        Host.Services.AddSingleton(new Version(0, 1));
        Host.Services.AddShmClient<ConformanceClient>(Host.Address, options => options.MaxReceiveMessageSize = 90)
            .ConfigureChannel((provider, options) =>
                options.MaxSendMessageSize = provider.GetRequiredService<Version>().Major)
            .Bind(Host.Section(
                ("Connect:TrustedServerUsers:0", "0"),
                ("Callbacks:Limits:MaxQueuedCallsPerConnection", "3"),
                ("ServiceConfig:RetryThrottling:MaxTokens", "7"),
                ("ServiceConfig:RetryThrottling:TokenRatio", "0.5")));
        await Host.StartAsync();
        ShmChannelOptions options = Host.Provider.GetRequiredService<IOptionsMonitor<ShmChannelOptions>>()
            .Get(typeof(ConformanceClient).FullName);
        Assert.That(options.Connect.TrustedServerUsers, Is.EqualTo(new[] { "0" }));
        Assert.That(options.Callbacks.Limits.MaxQueuedCallsPerConnection, Is.EqualTo(3));
        Assert.That(options.ServiceConfig!.RetryThrottling!.MaxTokens, Is.EqualTo(7));
        Assert.That(options.MaxSendMessageSize, Is.Zero);

        RpcException? failure = Assert.CatchAsync<RpcException>(
            () => Host.Provider.GetRequiredService<ConformanceClient>().AskAsync().Bounded());

        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task KeyedChannel_FromTheContainer_IsOneAndIsShutDownWithIt()
    {
        Host.Methods.Echo = (_, _) => Task.FromResult("answer");
        Host.Services.AddKeyedShmChannel("key", Host.Address, (_, options) => options.MaxSendMessageSize = 10);
        await Host.StartAsync();
        ShmChannel channel = Host.Provider.GetRequiredKeyedService<ShmChannel>("key");

        Assert.That(Host.Provider.GetRequiredKeyedService<ShmChannel>("key"), Is.SameAs(channel));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("answer"));
        await Host.DisposeAsync();
        Assert.That(channel.State, Is.EqualTo(ConnectivityState.Shutdown));
        Host = new TestHost();
    }

    [Test]
    public void KeyedChannel_AddedTwice_IsRefused()
    {
        Host.Services.AddKeyedShmChannel(1, "shm://one");

        Assert.That(
            () => Host.Services.AddKeyedShmChannel(1, "shm://one"),
            Throws.ArgumentException.With.Message.Contains("'1'"));
    }

    private static Func<IServiceProvider, Interceptor> Noting(string name) =>
        provider => new ClientInterceptor(provider.GetRequiredService<Diary>(), name);

    private static CallCredentials Adding(string word) => CallCredentials.FromInterceptor((_, metadata) =>
    {
        metadata.Add($"x-{word}", word);
        return Task.CompletedTask;
    });

    private sealed class OwnClient(CallInvoker invoker, Diary diary)
    {
        public CallInvoker Invoker => invoker;

        public Diary Diary => diary;
    }

    private sealed class PlainInterceptor(Diary diary) : Interceptor
    {
        public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
            TRequest request,
            ClientInterceptorContext<TRequest, TResponse> context,
            AsyncUnaryCallContinuation<TRequest, TResponse> continuation)
        {
            diary.Note("plain");
            return continuation(request, context);
        }
    }
}
