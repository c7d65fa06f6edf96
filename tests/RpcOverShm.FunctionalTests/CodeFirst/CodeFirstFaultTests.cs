using Google.Rpc;
using Grpc.Core.Interceptors;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
using RpcOverShm.FunctionalTests.Faults;
using Status = Grpc.Core.Status;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>
/// Faults of services without a .proto file: the interceptors serve any method, and the detail is a generated message.
/// </summary>
internal sealed class CodeFirstFaultTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task ExceptionWithTheAttribute_InEveryShape_ArrivesTyped(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        var quota = new QuotaFailure { Violations = { new QuotaFailure.Types.Violation { Subject = "pages" } } };
        INotebook notebook = await StartAsync(_ => throw new QuotaException(quota, "full"));

        var typed = (QuotaException)(await ThrownByAsync(notebook, operation))!;

        Assert.That((typed.Failure, typed.Message), Is.EqualTo((quota, "full")));
        Assert.That(
            ((RpcException)typed.InnerException!).Status.Plain(),
            Is.EqualTo(new Status(StatusCode.ResourceExhausted, "full")));
    }

    [Test]
    public async Task MappedException_AfterAnAwait_ArrivesTyped(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        INotebook notebook = await StartAsync(async _ =>
        {
            await Task.Yield();
            throw new OrderMissingException("o-1", "none");
        });

        Exception? typed = await ThrownByAsync(notebook, operation);

        Assert.That(typed, Is.TypeOf<OrderMissingException>().With.Property("Order").EqualTo("o-1"));
    }

    [Test]
    public async Task Callback_OfAnInterface_ThrowsTheTypedExceptionOfTheClient()
    {
        string? seen = null;
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions
        {
            Services = services => services.AddCodeFirst<INotebook>(new Notebook(context =>
            {
                IReader back = context.GetShmSession().CreateCallInvoker().Intercept(SampleFaults.Client)
                    .CreateGrpcService<IReader>();
                seen = Assert.Catch<OrderException>(() => back.Ask(new Note()))!.Order;
                return Task.CompletedTask;
            })),
        });
        ShmChannel channel = rig.OpenChannel(options =>
            options.Callbacks.Services.Intercept(SampleFaults.Server).AddCodeFirst<IReader>(new LockedReader()));

        string answer = await channel.CreateGrpcService<INotebook>().CallAsync("Write", default).Bounded();

        Assert.That((answer, seen), Is.EqualTo(("AB", "o-2")));
    }

    private static Task<Exception?> ThrownByAsync(INotebook notebook, string operation) => Thrown.InAllAsync(
        () => notebook.CallAsync(operation, new CallContext(default, CallContextFlags.IgnoreStreamTermination)));

    private async Task<INotebook> StartAsync(Func<ServerCallContext, Task> act)
    {
        ShmRig rig = await StartShmAsync(
            new Script(),
            new RigOptions
            {
                OptionInterceptors = [SampleFaults.Server],
                Services = services => services.AddCodeFirst<INotebook>(new Notebook(act)),
            });
        return rig.Channel.Intercept(SampleFaults.Client).CreateGrpcService<INotebook>();
    }

    private sealed class LockedReader : IReader
    {
        public Note Ask(Note note) => throw new OrderException("o-2", "locked");
    }
}
