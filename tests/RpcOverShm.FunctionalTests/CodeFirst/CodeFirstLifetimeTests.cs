using ProtoBuf.Grpc.Client;
using RpcOverShm.Samples;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>Services of interfaces whose instances a function creates.</summary>
internal sealed class CodeFirstLifetimeTests() : RigFixture(RigKind.Shm)
{
    // The operations of both contracts of the class.
    private const int Operations = 7;

    private readonly List<Notebook> _created = [];

    [SetUp]
    public void Clear() => _created.Clear();

    [Test]
    public async Task Operations_OfEveryShape_RunOnInstancesOfTheirLifetime(
        [Values(ShmServiceLifetime.PerCall, ShmServiceLifetime.PerSession, ShmServiceLifetime.Singleton)]
        ShmServiceLifetime lifetime)
    {
        ShmRig rig = await StartAsync(new ShmServiceOptions { Lifetime = lifetime });
        ShmChannel[] channels = [rig.ShmChannel, rig.OpenChannel()];

        int calls = 0;
        foreach (ShmChannel channel in channels)
        {
            foreach (string operation in NotebookCalls.Operations)
            {
                string answer = await channel.CreateGrpcService<INotebook>().CallAsync(operation, default).Bounded();
                Assert.That(answer, Is.EqualTo(NotebookCalls.AnswerOf(operation)), operation);
                calls++;
            }
        }

        int expected = lifetime switch
        {
            ShmServiceLifetime.PerCall => calls,
            ShmServiceLifetime.PerSession => channels.Length,
            _ => 1,
        };
        Assert.That(_created, Has.Count.EqualTo(expected));
    }

    [Test]
    public async Task Calls_OfALimitedInstance_RunOneAfterTheOther()
    {
        const int Calls = 20;
        int inside = 0;
        int most = 0;
        ShmRig rig = await StartAsync(
            new ShmServiceOptions { Lifetime = ShmServiceLifetime.Singleton, MaxConcurrentCallsPerInstance = 1 },
            async _ =>
            {
                most = Math.Max(most, Interlocked.Increment(ref inside));
                await Task.Yield();
                Interlocked.Decrement(ref inside);
            });
        INotebook notebook = rig.Channel.CreateGrpcService<INotebook>();

        await Task.WhenAll(Enumerable.Range(0, Calls).Select(_ => notebook.CallAsync("WriteLater", default))).Bounded();

        Assert.That(most, Is.EqualTo(1));
    }

    [Test]
    public void Binding_ThatAddsNothing_IsRefused()
    {
        ShmServiceCollection services = new ShmServer("shm://x").Services;

        Assert.That(
            () => services.Add(
                static _ => new object(), static (ShmServiceBinder<object> _) => { }),
            Throws.ArgumentException.With.Message.Contains("adds no method"));
        Assert.That(services, Is.Empty);
    }

    [Test]
    public void Method_ThatIsNullOrTooLateOrThereAlready_IsRefused()
    {
        ShmServiceCollection services = new ShmServer("shm://x").Services;
        Method<Payload, Payload> method = Script.UnaryMethod;
        Func<object, Payload, ServerCallContext, Task<Payload>> run =
            static (_, request, _) => Task.FromResult(request);

        ShmServiceBinder<object> late = null!;

        services.Add(static _ => new object(), binder =>
        {
            Assert.That(() => binder.AddUnaryMethod(null!, run), Throws.ArgumentNullException);
            Assert.That(() => binder.AddUnaryMethod<Payload, Payload>(method, null!), Throws.ArgumentNullException);
            binder.AddUnaryMethod(method, run);
            late = binder;
        });

        Assert.That(() => late.AddUnaryMethod(method, run), Throws.InvalidOperationException);
        Assert.That(
            () => services.Add(static _ => new object(), (ShmServiceBinder<object> binder) =>
            {
                binder.AddUnaryMethod(method, run);
                binder.AddUnaryMethod(method, run);
            }),
            Throws.ArgumentException.With.Message.Contains($"{method.FullName} twice"));
        Assert.That(services, Has.Count.EqualTo(1));
    }

    private Task<ShmRig> StartAsync(ShmServiceOptions options, Func<ServerCallContext, Task>? act = null) =>
        StartShmAsync(
            new Script(),
            new RigOptions
            {
                Services = services => services.Add(
                    _ => Create(act),
                    binder => Assert.That(new InstanceBinder().Bind<Notebook>(binder), Is.EqualTo(Operations)),
                    options),
            });

    private Notebook Create(Func<ServerCallContext, Task>? act)
    {
        var notebook = new Notebook(act);
        lock (_created)
        {
            _created.Add(notebook);
        }

        return notebook;
    }
}
