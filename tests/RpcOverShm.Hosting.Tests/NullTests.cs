using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.DependencyInjection;
using ConformanceClient = RpcOverShm.Testing.Protos.Conformance.ConformanceClient;

namespace RpcOverShm.Hosting.Tests;

/// <summary>Null and empty arguments of the public methods.</summary>
public class NullTests
{
    private static readonly IServiceCollection s_services = new ServiceCollection();

    private static Func<IServiceProvider, string> NoAddress => null!;

    public static IEnumerable<TestCaseData> Calls()
    {
        ShmServerBuilder server = new ServiceCollection().AddShmServer("shm://a");
        ShmClientBuilder client = new ServiceCollection().AddShmClient<ConformanceClient>("shm://a");
        IHealthChecksBuilder checks = new ServiceCollection().AddHealthChecks();
        IServiceCollection noServices = null!;
        return
        [
            Case("services", () => noServices.AddShmServer("shm://a")),
            Case("address", () => s_services.AddShmServer(null!)),
            Case("name", () => s_services.AddShmServer(null!, "shm://a")),
            Case("address", () => s_services.AddShmServer("name", (string)null!)),
            Case("configure", () => server.Configure((Action<ShmServerOptions>)null!)),
            Case("configure", () => server.Configure((Action<IServiceProvider, ShmServerOptions>)null!)),
            Case("section", () => server.Bind(null!)),
            Case("create", () => server.AddService(null!)),
            Case("descriptors", () => server.AddReflection(null!)),
            Case("descriptors", () => server.AddReflection([null!])),
            Case("service", () => server.AddHealth(health => health.Map(null!, _ => true))),
            Case("isCheckOfService", () => server.AddHealth(health => health.Map("", null!))),
            Case("services", () => noServices.AddShmClient<ConformanceClient>("shm://a")),
            Case("address", () => s_services.AddShmClient<ConformanceClient>((string)null!)),
            Case("address", () => s_services.AddShmClient<ConformanceClient>(NoAddress)),
            Case("name", () => s_services.AddShmClient<ConformanceClient>(null!, "shm://a")),
            Case("address", () => s_services.AddShmClient<ConformanceClient>("name", (string)null!)),
            Case("address", () => s_services.AddShmClient<ConformanceClient>("name", NoAddress)),
            Case("configure", () => client.ConfigureChannel((Action<ShmChannelOptions>)null!)),
            Case("configure", () => client.ConfigureChannel((Action<IServiceProvider, ShmChannelOptions>)null!)),
            Case("section", () => client.Bind(null!)),
            Case("create", () => client.AddInterceptor((Func<IServiceProvider, Interceptor>)null!)),
            Case("create", () => client.AddInterceptor((Func<Interceptor>)null!)),
            Case("configure", () => client.ConfigureCallOptions(null!)),
            Case("credentials", () => client.AddCallCredentials((CallCredentials)null!)),
            Case("addMetadata", () => client.AddCallCredentials(
                (Func<AuthInterceptorContext, Metadata, Task>)null!)),
            Case("addMetadata", () => client.AddCallCredentials(
                (Func<AuthInterceptorContext, Metadata, IServiceProvider, Task>)null!)),
            Case("services", () => noServices.AddKeyedShmChannel("key", "shm://a")),
            Case("key", () => s_services.AddKeyedShmChannel(null!, "shm://a")),
            Case("address", () => s_services.AddKeyedShmChannel("key", null!)),
            Case("builder", () => ((IHealthChecksBuilder)null!).AddShmServer("shm://a")),
            Case("address", () => checks.AddShmServer(null!)),
            Case("service", () => checks.AddShmServer("shm://a", null!)),
            Case("builder", () => ((IHealthChecksBuilder)null!).AddShmChannel("key")),
            Case("channelKey", () => checks.AddShmChannel(null!)),
        ];

        static TestCaseData Case(string name, Action call) => new(name, call);
    }

    [TestCaseSource(nameof(Calls))]
    public void Argument_ThatIsNull_IsNamed(string name, Action call) =>
        Assert.That(() => call(), Throws.ArgumentNullException.With.Property("ParamName").EqualTo(name));

    [Test]
    public void Address_ThatIsEmpty_IsRefused() =>
        Assert.That(() => s_services.AddShmServer(""), Throws.ArgumentException);

    [Test]
    public void Timeout_ThatIsZero_IsRefused() => Assert.That(
        () => new ServiceCollection().AddHealthChecks().AddShmServer("shm://a", timeout: TimeSpan.Zero),
        Throws.InstanceOf<ArgumentOutOfRangeException>().With.Property("ParamName").EqualTo("timeout"));

    [Test]
    public void Scope_ThatIsNone_IsRefused() => Assert.That(
        () => new ServiceCollection().AddShmClient<ConformanceClient>("shm://a")
            .AddInterceptor(_ => null!, (ShmInterceptorScope)7),
        Throws.InstanceOf<ArgumentOutOfRangeException>().With.Property("ParamName").EqualTo("scope"));
}
