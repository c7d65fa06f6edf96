using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RpcOverShm.Hosting.Calls;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing.Protos;
using ConformanceClient = RpcOverShm.Testing.Protos.Conformance.ConformanceClient;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Messages for programs that make a mistake: what is wrong, what is allowed, what to do.</summary>
public class MistakeTests : HostFixture
{
    private const int HostFailed = 11;
    private const int SectionMissing = 501;

    [TestCase("MaxSendMesageSize", "MaxSendMessageSize")]
    [TestCase("limit", "Limits")]
    public void Key_ThatIsMisspelt_IsToldWithTheNearestNameAndAllNames(string misspelt, string meant)
    {
        string message = FailureOfServer((misspelt, "3"));

        Assert.That(
            message,
            Does.Contain($"'{misspelt}' is no option; did you mean '{meant}'? There are: EnableDetailedErrors, "));
        Assert.That(message, Does.Contain("IdleTimeout").And.Not.Contains("Codecs"), "What is set in code.");
    }

    [TestCase("Color")]
    [TestCase("X")]
    public void Key_ThatIsNearToNone_IsToldWithAllNames(string key) => Assert.That(
        FailureOfServer((key, "3")), Does.Contain($"'{key}' is no option. There are: EnableDetailedErrors, "));

    [TestCase("Callbacks:Limits:MaxQueudCallsPerConnection", "MaxQueuedCallsPerConnection")]
    [TestCase("Callbacks:Limit", "Limits")]
    [TestCase("Connect:TimeOut2", "Timeout")]
    [TestCase("Ring:Capacty", "Capacity")]
    [TestCase("ServiceConfig:MethodConfig:0:Timeout", "MethodConfigs")]
    [TestCase("ServiceConfig:MethodConfigs:0:TimeOut2", "Timeout")]
    [TestCase("ServiceConfig:MethodConfigs:0:Names:0:Servic", "Service")]
    [TestCase("ServiceConfig:MethodConfigs:0:RetryPolicy:MaxAttempt", "MaxAttempts")]
    [TestCase("ServiceConfig:RetryThrottling:TokenRation", "TokenRatio")]
    public void Key_ThatIsMisspeltInside_IsToldWithTheNearestName(string key, string meant) =>
        Assert.That(FailureOfClient((key, "3")), Does.Contain($"is no option; did you mean '{meant}'? There are: "));

    [TestCase("Limits:RequestHeadTimeout", "30", "\"00:00:30\" for seconds, or \"30.00:00:00\" for days")]
    [TestCase("IdleTimeout", "90", "\"00:01:30\" for seconds")]
    public void Time_ThatIsANumberAlone_IsToldHowToWriteIt(string key, string value, string advice) => Assert.That(
        FailureOfServer((key, value)),
        Does.Contain($"'{key.Split(':')[^1]}' is {value}, which .NET reads as {value} days. Write ")
            .And.Contains(advice));

    [TestCase("Connect:Timeout")]
    [TestCase("DefaultTimeout")]
    [TestCase("ServiceConfig:MethodConfigs:0:Timeout")]
    [TestCase("ServiceConfig:MethodConfigs:0:RetryPolicy:InitialBackoff")]
    public void Time_OfAChannelThatIsANumberAlone_IsToldHowToWriteIt(string key) =>
        Assert.That(FailureOfClient((key, "5")), Does.Contain("Write \"00:00:05\" for seconds"));

    [Test]
    public void Time_OfEveryOption_IsChecked([Values] bool isServer)
    {
        Type type = isServer ? typeof(ShmServerOptions) : typeof(ShmChannelOptions);
        string[] times = [.. TimesOf(type, "")];

        Assert.That(times, Is.Not.Empty);
        foreach (string time in times)
        {
            Func<(string, string)[], string> failure = isServer ? FailureOfServer : FailureOfClient;
            Assert.That(
                failure([(time, "1")]), Does.Contain($"'{time.Split(':')[^1]}' is 1, which .NET reads as 1 days."));
        }
    }

    [TestCase("MaxBufferSize", "Limits:MaxBufferSize")]
    [TestCase("MaxQueuedCalls", "Limits:MaxQueuedCallsPerConnection")]
    [TestCase("maxmetadatasize", "Limits:MaxMetadataSize")]
    [TestCase("AllowedUsers:0", "Listen:AllowedUsers")]
    [TestCase("HandshakeTimeout", "Listen:HandshakeTimeout")]
    [TestCase("MaxPeerRingCapacity", "Ring:MaxPeerCapacity")]
    public void Key_ThatHadNoGroup_IsToldWithItsNewName(string key, string name) => Assert.That(
        FailureOfServer((key, "3")),
        Does.Contain("'Section'").And.Contains($"'{key.Split(':')[0]}' is named '{name}' now; write that instead."));

    [Test]
    public void Key_OfAnOptionThatIsGone_IsToldSo() => Assert.That(
        FailureOfServer(("AllowInPlaceParsing", "false")), Does.Contain("'AllowInPlaceParsing' is gone; remove it."));

    [TestCase("ConnectTimeout", "Connect:Timeout")]
    [TestCase("RuntimeDirectory", "Connect:RuntimeDirectory")]
    [TestCase("RingCapacity", "Ring:Capacity")]
    [TestCase("Callbacks:MaxQueuedCalls", "Limits:MaxQueuedCallsPerConnection")]
    public void Key_OfAChannelThatHadNoGroup_IsToldWithItsNewName(string key, string name) => Assert.That(
        FailureOfClient((key, "3")), Does.Contain($"'{key.Split(':')[^1]}' is named '{name}' now; write that"));

    [TestCase(typeof(ShmServerOptions))]
    [TestCase(typeof(ShmChannelOptions))]
    [TestCase(typeof(ShmCallbackOptions))]
    public void Names_OfFormerOptions_AreGoneAndTheNewOnesAreThere(Type options)
    {
        Assert.That(FormerOptions.Of(options), Is.Not.Empty);
        foreach ((string former, string? name) in FormerOptions.Of(options))
        {
            Assert.That(options.GetProperty(former), Is.Null);
            if (name?.Split(':') is not { } parts)
            {
                continue; // gone
            }

            Assert.That(options.GetProperty(parts[0])?.PropertyType.GetProperty(parts[1]), Is.Not.Null, name);
        }
    }

    [Test]
    public async Task Section_ThatIsMissing_IsLoggedWithTheNearestName()
    {
        Host.Section(("Servr:Limits:MaxCallbackDepth", "1"), ("Clients:Connect:Timeout", "00:00:01"));
        IConfigurationSection missing = Host.Section().GetSection("Server");
        Host.Services.AddShmServer(Host.Address).Bind(missing);
        Host.Services.AddShmClient<ConformanceClient>(Host.Address).Bind(missing);

        await Host.StartAsync();

        Assert.That(Host.Log.Of(SectionMissing).Select(one => one.Message), Is.EquivalentTo(new[]
        {
            Expected(Host.Address), Expected(typeof(ConformanceClient).FullName!),
        }));
        Assert.That(Host.Log.Of(SectionMissing).Select(one => one.Level), Is.All.EqualTo(LogLevel.Warning));

        static string Expected(string name) =>
            $"Section 'Section:Server' of the configuration, for '{name}', is missing or empty; did you mean 'Servr'? "
            + "The options keep the values that they have without it. There are: Clients, Servr. Use "
            + "GetRequiredSection for one that must exist.";
    }

    [Test]
    public async Task Section_ThatExists_IsNotLogged()
    {
        Host.Services.AddShmServer(Host.Address).Bind(Host.Section(("Limits:MaxCallbackDepth", "1")));

        await Host.StartAsync();

        Assert.That(Host.Log.Of(SectionMissing), Is.Empty);
    }

    [Test]
    public void Address_ThatTheConfigurationLacks_IsToldWithAnExample()
    {
        string address = Host.Section()["Address"]!;

        Assert.That(() => Host.Services.AddShmServer(address), IsAdvice());
        Assert.That(() => Host.Services.AddShmServer("name", address), IsAdvice());
        Assert.That(() => Host.Services.AddShmClient<ConformanceClient>(address), IsAdvice());
        Assert.That(() => Host.Services.AddShmClient<ConformanceClient>("name", address), IsAdvice());
        Assert.That(() => Host.Services.AddKeyedShmChannel("key", address), IsAdvice());
        Assert.That(() => Host.Services.AddHealthChecks().AddShmServer(address), IsAdvice());
        Assert.That(
            () => Host.Services.AddShmServer(""),
            Throws.ArgumentException.With.Message.Contains("The address is empty. An address is such as shm://name."));

        static NUnit.Framework.Constraints.IResolveConstraint IsAdvice() => Throws.ArgumentNullException.With.Message
            .Contains("An address is such as shm://name. If it comes from the configuration, its key is missing");
    }

    [Test]
    public void Service_WhoseDependencyIsNotRegistered_FailsTheStart()
    {
        Host.Services.AddShmServer(Host.Address).AddService<NumberedService>();

        AssertStartFails(
            $"The server '{Host.Address}' cannot serve calls: {typeof(NumberedService)} needs {typeof(Part)}, which "
            + "is not registered. Add it to the services, for example with services.AddScoped<Part>().");
    }

    [Test]
    public void Interceptor_WhoseDependencyIsNotRegistered_FailsTheStart()
    {
        Host.Services.AddShmServer(Host.Address).AddService<TestService>().AddInterceptor<NotingInterceptor>();

        AssertStartFails($"{typeof(NotingInterceptor)} needs {typeof(Part)}, which is not registered.");
    }

    [Test]
    public void Interceptor_OfAClient_WhoseDependencyIsNotRegistered_FailsTheStart()
    {
        Host.Services.AddShmClient<ConformanceClient>(Host.Address).AddInterceptor<NotingInterceptor>();

        AssertStartFails($"{typeof(NotingInterceptor)} needs {typeof(Part)}, which is not registered.");
    }

    [Test]
    public void Client_WithADependencyThatIsNotRegistered_FailsTheStart()
    {
        Host.Services.AddShmClient<DemandingClient>(Host.Address);

        AssertStartFails($"{typeof(DemandingClient)} needs {typeof(Part)}, which is not registered.");
    }

    [Test]
    public async Task Service_WhoseDependencyLacksOne_FailsTheStart([Values] bool isServiceRegistered)
    {
        await DisposeHost();
        Host = new TestHost(isCheckedWhenBuilt: false);
        Host.Services.AddScoped<Outer>();
        if (isServiceRegistered)
        {
            Host.Services.AddScoped<OuterService>();
        }

        Host.Services.AddShmServer(Host.Address).AddService<OuterService>();

        AssertStartFails($"{typeof(Outer)} needs {typeof(Part)}, which is not registered.");
    }

    [Test]
    public void Service_WithAKeyThatIsNotRegistered_FailsTheStart()
    {
        Host.Services.AddShmServer(Host.Address).AddService<KeyedService>();

        AssertStartFails($"{typeof(KeyedService)} needs {typeof(Part)} with the key 'main', which is not registered. ");
    }

    [Test]
    public void Service_WithSeveralConstructors_FailsTheStart()
    {
        Host.Services.AddShmServer(Host.Address).AddService<AmbiguousService>();

        AssertStartFails($"{typeof(AmbiguousService)} has several public constructors. Mark the one to call with ");
    }

    [Test]
    public async Task Service_WhoseDependenciesAreThere_Starts()
    {
        Host.Services.AddKeyedScoped<Part>("main");
        Host.Services.AddScoped(_ => new Part(Host.Diary));
        Host.Services.AddShmServer(Host.Address)
            .AddService<KeyedService>()
            .AddService<ChoosyService>()
            .AddInterceptor<NotingInterceptor>();

        await Host.StartAsync();
    }

    [Test]
    public void ClientWithANameOnly_WithoutItsName_IsToldHowToGetIt()
    {
        Host.Services.AddShmClient<ConformanceClient>("one", Host.Address);
        Host.Services.AddShmClient<ConformanceClient>("two", Host.Address);
        string expected = $"The clients {typeof(ConformanceClient)} have names: one, two. Take one with "
            + "[FromKeyedServices(\"one\")] or from ShmClientFactory, or add one without a name.";

        Assert.That(
            () => Host.Provider.GetRequiredService<ConformanceClient>(),
            Throws.InvalidOperationException.With.Message.EqualTo(expected));
        Assert.That(Host.Provider.GetRequiredKeyedService<ConformanceClient>("two"), Is.Not.Null);
    }

    [Test]
    public void ClientWithANameOnly_NeededByAService_FailsTheStart()
    {
        Host.Services.AddShmClient<ConformanceClient>("one", Host.Address);
        Host.Services.AddShmServer(Host.Address).AddService<ForwardingService>();

        AssertStartFails($"The clients {typeof(ConformanceClient)} have names: one. Take one with ");
    }

    [TestCase(true)]
    [TestCase(false)]
    public void Client_WithoutANameBesideOneWithAName_IsInjected(bool isNamedFirst)
    {
        if (isNamedFirst)
        {
            Host.Services.AddShmClient<ConformanceClient>("one", Host.Address);
        }

        Host.Services.AddShmClient<ConformanceClient>(Host.Address);
        Host.Services.AddShmClient<ConformanceClient>("one", Host.Address);

        Assert.That(Host.Provider.GetServices<ConformanceClient>().ToList(), Has.One.Items);
    }

    private static IEnumerable<string> TimesOf(Type type, string path) =>
        from property in type.GetProperties()
        from time in property.PropertyType == typeof(TimeSpan) || property.PropertyType == typeof(TimeSpan?)
            ? [path + property.Name]
            : property.PropertyType.Namespace == nameof(RpcOverShm) && property.PropertyType != typeof(ShmServiceConfig)
                ? TimesOf(property.PropertyType, $"{path}{property.Name}:")
                : []
        select time;

    private string FailureOfServer(params (string Key, string Value)[] entries)
    {
        var services = new ServiceCollection();
        services.AddShmServer(Host.Address).Bind(Section(entries));
        return FailureOf<ShmServerOptions>(services, Host.Address);
    }

    private string FailureOfClient(params (string Key, string Value)[] entries)
    {
        var services = new ServiceCollection();
        services.AddShmClient<ConformanceClient>("name", Host.Address).Bind(Section(entries));
        return FailureOf<ShmChannelOptions>(services, "name");
    }

    private static IConfigurationSection Section((string Key, string Value)[] entries) => new ConfigurationBuilder()
        .AddInMemoryCollection(entries.Select(one => KeyValuePair.Create($"Section:{one.Key}", (string?)one.Value)))
        .Build()
        .GetSection("Section");

    private static string FailureOf<TOptions>(IServiceCollection services, string name)
        where TOptions : class
    {
        using ServiceProvider provider = services.BuildServiceProvider();
        OptionsValidationException? failure = Assert.Catch<OptionsValidationException>(
            () => provider.GetRequiredService<IOptionsMonitor<TOptions>>().Get(name));
        return failure!.Message;
    }

    private void AssertStartFails(string message)
    {
        Host.Log.Expect(HostFailed);
        Exception? failure = Assert.CatchAsync(Host.StartAsync);
        Assert.That(failure!.Message, Does.Contain(message));
    }

    private sealed class Outer(Part part)
    {
        public Part Part => part;
    }

    private sealed class OuterService(Outer outer) : Conformance.ConformanceBase
    {
        public Outer Outer => outer;
    }

    private sealed class KeyedService([FromKeyedServices("main")] Part part) : Conformance.ConformanceBase
    {
        public Part Part => part;
    }

    private sealed class ForwardingService(ConformanceClient client) : Conformance.ConformanceBase
    {
        public ConformanceClient Client => client;
    }

    private sealed class DemandingClient(CallInvoker invoker, Part part)
    {
        public (CallInvoker, Part) Both => (invoker, part);
    }

    private sealed class AmbiguousService : Records.RecordsBase
    {
        public AmbiguousService()
        {
        }

        public AmbiguousService(Diary diary) => Diary = diary;

        public Diary? Diary { get; }
    }

    // One constructor needs what is not there; the other one is to be called.
    private sealed class ChoosyService : Records.RecordsBase
    {
        public ChoosyService(Interceptor interceptor) => Needed = interceptor;

        [ActivatorUtilitiesConstructor]
        public ChoosyService(Diary diary, IServiceProvider provider, Outer? outer = null) =>
            Needed = (diary, provider, outer);

        public object Needed { get; }
    }
}
