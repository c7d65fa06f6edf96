using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>Readers and writers that are used in the wrong order, or at the wrong time, on both sides.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class StreamStateTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task HandlerRead_WhileAnotherIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var second = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                Task<bool> first = requests.MoveNext(CancellationToken.None);
                second.SetResult(await CatchAsync(() => requests.MoveNext(CancellationToken.None)));
                return await first ? requests.Current : Payloads.Empty;
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        Exception? exception = await second.Task.Bounded();
        await call.RequestStream.WriteAsync(Payloads.Of("first")).Bounded();
        Payload response = await call.ResponseAsync.Bounded();

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
        Assert.That(response.Text(), Is.EqualTo("first"));
    }

    [Test]
    public async Task HandlerWrite_OfNull_Throws()
    {
        Exception? exception = await InHandlerAsync(responses => responses.WriteAsync(null!));

        // Grpc.Core hands null to the marshaller, whose exception it is then.
        Assert.That(exception, IsShm ? Is.InstanceOf<ArgumentNullException>() : Is.Not.Null);
    }

    [Test]
    public async Task HandlerWrite_WhileAnotherIsUnderWay_Throws()
    {
        var second = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    Task first = responses.WriteAsync(Payloads.OfSize(20_000_000));
                    second.SetResult(await CatchAsync(() => responses.WriteAsync(Payloads.Empty)));
                    await first;
                },
            },
            RigOptions.AnySize);

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Exception? exception = await second.Task.Bounded();

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
        Assert.That((await call.ResponseStream.ReadAllAsync()).Single().Data.Length, Is.EqualTo(20_000_000));
    }

    [Test]
    public async Task HandlerWrite_AfterTheHandlerHasReturned_Throws()
    {
        IServerStreamWriter<Payload>? kept = null;
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = (_, responses, _) =>
            {
                kept = responses;
                return Task.CompletedTask;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await call.ResponseStream.ReadAllAsync();
        Exception? exception = await CatchAsync(() => kept!.WriteAsync(Payloads.Empty));

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
    }

    [Test]
    public async Task HandlerRead_AfterTheHandlerHasReturned_Throws()
    {
        IAsyncStreamReader<Payload>? kept = null;
        CallRig rig = await StartAsync(new Script
        {
            ClientStream = (requests, _) =>
            {
                kept = requests;
                return Task.FromResult(Payloads.Empty);
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.ResponseAsync.Bounded();
        Exception? exception = await CatchAsync(() => kept!.MoveNext(CancellationToken.None));

        // Grpc.Core reads the end, as if the client had ended its stream.
        Assert.That(exception, IsShm ? Is.InstanceOf<InvalidOperationException>() : Is.Null.Or.InstanceOf<Exception>());
    }

    /// <summary>What something throws, at once or through its task; null when nothing.</summary>
    private static async Task<Exception?> CatchAsync(Func<Task> action)
    {
        try
        {
            await action().Bounded();
            return null;
        }
        catch (Exception exception)
        {
            return exception;
        }
    }

    private async Task<Exception?> InHandlerAsync(Func<IServerStreamWriter<Payload>, Task> action)
    {
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (_, responses, _) => result.SetResult(await CatchAsync(() => action(responses))),
        });
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        return await result.Task.Bounded();
    }
}
