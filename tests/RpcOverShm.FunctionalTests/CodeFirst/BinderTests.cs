using ProtoBuf.Grpc;
using RpcOverShm.FunctionalTests.Interceptors;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>The server's services as a binder: generated code and others add methods to it.</summary>
internal sealed class BinderTests() : RigFixture(RigKind.Shm)
{
    [TestCase("code-first", "code-first", "'/test.Notebook/Write'")]
    [TestCase("bound", "bound", "'/rpcovershm.testing.Conformance/Echo'")]
    [TestCase("bound", "added", "'/rpcovershm.testing.Conformance/Echo'")]
    public async Task Method_OfTwoServices_IsRefusedAtTheStart(string first, string second, string name)
    {
        await using var server = new ShmServer($"shm://{UniqueName.Next()}");
        Add(server.Services, first);
        Add(server.Services, second);

        Assert.That(() => server.StartAsync(), Throws.ArgumentException.With.Message.Contains(name));
    }

    [Test]
    public async Task MethodWithoutHandler_IsNotServed()
    {
        ShmRig rig = await StartShmAsync(
            new Script(), new RigOptions { Services = services => ConformanceContract.BindService(services, null) });

        RpcException failure = await FailureOf(rig.Conformance.EchoAsync(Payloads.Of("x")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
    }

    [Test]
    public async Task Method_BoundAfterTheStart_IsRefused()
    {
        ShmRig rig = await StartShmAsync(new Script());
        ShmServiceCollection services = rig.Server.Services;
        int count = services.Count;

        Assert.That(
            () => services.AddMethod(Script.UnaryMethod, new Script().Unary),
            Throws.InvalidOperationException.With.Message.Contains("was started already"));
        Assert.That(services.AddCodeFirst<INotebook>(new Notebook()), Is.Zero, "It catches exceptions.");
        Assert.That(services, Has.Count.EqualTo(count));
    }

    [Test]
    public async Task Interceptors_OfServerAndBinder_RunAroundBoundMethods()
    {
        var seen = new List<string>();
        ShmRig rig = await StartShmAsync(
            new Script(),
            new RigOptions
            {
                OptionInterceptors = [AroundInterceptor.Noting("all", seen)],
                Services = services =>
                    services.Intercept(AroundInterceptor.Noting("one", seen)).AddCodeFirst<IReader>(new Notebook()),
            });

        IReader reader = ProtoBuf.Grpc.Client.GrpcClientFactory.CreateGrpcService<IReader>(rig.Channel);
        string answer = await Timeouts.OnThread(() => reader.Ask(new Note { Text = "a" }).Text).Bounded();

        Assert.That(answer, Is.EqualTo("A"));
        Assert.That(seen, Is.EqualTo(new[] { "all /test.Reader/Ask", "one /test.Reader/Ask" }));
    }

    private static void Add(ShmServiceCollection services, string how)
    {
        switch (how)
        {
            case "code-first":
                services.AddCodeFirst<INotebook>(new Notebook());
                break;
            case "bound":
                ConformanceContract.BindService(services, new ConformanceService());
                break;
            default:
                services.Add(ConformanceContract.BindService(new ConformanceService()));
                break;
        }
    }
}
