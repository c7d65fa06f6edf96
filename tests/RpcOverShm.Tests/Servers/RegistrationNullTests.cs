using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Tests.Servers;

/// <summary>
/// Null arguments of the methods that add services, each refused with the name of its parameter. Nothing is added.
/// </summary>
public class RegistrationNullTests
{
    public static IEnumerable<TestCaseData> Calls()
    {
        ShmServiceCollection services = new ShmServer("shm://x").Services;
        ShmServiceCollection callbacks = new ShmChannelOptions().Callbacks.Services;
        ServerServiceDefinition definition = new Script().Build();
        Func<ShmActivationContext, ConformanceService> create = _ => new ConformanceService();
        Func<ShmActivationContext, ConformanceService> none = null!;
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
            Case("create", () => services.Add(none, (ShmServiceBinder<ConformanceService> _) => { })),
            Case("bind", () => services.Add(create, (Action<ShmServiceBinder<ConformanceService>>)null!)),
            Case("method", () => services.AddMethod(noMethod, new Script().Unary)),
            Case("method", () => services.AddMethod(noMethod, new Script().ClientStream)),
            Case("method", () => services.AddMethod(noMethod, new Script().ServerStream)),
            Case("method", () => services.AddMethod(noMethod, new Script().Duplex)),
            Case("serviceName", () => ShmMethod.Unary<Payload, Payload>(null!, "Name")),
            Case("name", () => ShmMethod.Unary<Payload, Payload>("service", null!)),
        ];

        TestCaseData Case(string name, Action call) => new(name, call, services, callbacks);
    }

    [TestCaseSource(nameof(Calls))]
    public void Argument_ThatIsNull_IsNamed(
        string name, Action call, ShmServiceCollection services, ShmServiceCollection callbacks)
    {
        Assert.That(() => call(), Throws.ArgumentNullException.With.Property("ParamName").EqualTo(name));
        Assert.That(services, Is.Empty);
        Assert.That(callbacks, Is.Empty);
    }
}
