using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Instances;

/// <summary>Null arguments of the methods that add services, each refused with the name of its parameter.</summary>
[OneMode]
internal sealed class RegistrationNullTests
{
    public static IEnumerable<TestCaseData> Calls()
    {
        ShmServiceCollection services = new ShmServer("shm://x").Services;
        ShmServiceCollection callbacks = new ShmChannelOptions().Callbacks.Services;
        ServerServiceDefinition definition = new Script().Build();
        Func<ShmActivationContext, ProbeService> create = new Probe().Create;
        Func<ShmActivationContext, ProbeService> none = null!;
        Method<Payload, Payload> noMethod = null!;
        return
        [
            Case("service", () => services.Add((ServerServiceDefinition)null!)),
            Case("service", () => callbacks.Add((ServerServiceDefinition)null!)),
            Case("interceptors", () => services.Add(definition, null!)),
            Case("interceptors", () => services.Add(definition, (Interceptor)null!)),
            Case("create", () => services.Add(none)),
            Case("interceptors", () => services.Add(create, new ShmServiceOptions(), null!)),
            Case("interceptors", () => services.Add(create, new ShmServiceOptions(), (Interceptor)null!)),
            Case("create", () => services.Add(none, (ShmServiceBinder<ProbeService> _) => { })),
            Case("bind", () => services.Add(create, (Action<ShmServiceBinder<ProbeService>>)null!)),
            Case("method", () => services.AddMethod(noMethod, new Script().Unary)),
            Case("method", () => services.AddMethod(noMethod, new Script().ClientStream)),
            Case("method", () => services.AddMethod(noMethod, new Script().ServerStream)),
            Case("method", () => services.AddMethod(noMethod, new Script().Duplex)),
            Case("serviceName", () => ShmMethod.Unary<Payload, Payload>(null!, "Name")),
            Case("name", () => ShmMethod.Unary<Payload, Payload>("service", null!)),
        ];

        static TestCaseData Case(string name, Action call) => new(name, call);
    }

    [TestCaseSource(nameof(Calls))]
    public void Argument_ThatIsNull_IsNamed(string name, Action call) =>
        Assert.That(() => call(), Throws.ArgumentNullException.With.Property("ParamName").EqualTo(name));
}
