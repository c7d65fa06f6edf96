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
    public async Task ClientRead_WhileAnotherIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var mayWrite = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await mayWrite.Task;
                await responses.WriteAsync(request);
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("one"));
        Task<bool> first = call.ResponseStream.MoveNext(CancellationToken.None);
        Exception? second = await CatchAsync(() => call.ResponseStream.MoveNext(CancellationToken.None));
        mayWrite.SetResult();

        Assert.That(second, Is.InstanceOf<InvalidOperationException>());
        Assert.That(await first.Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo("one"));
    }

    [Test]
    public async Task ClientRead_AfterTheEnd_KeepsReturningFalse()
    {
        CallRig rig = await StartAsync(new Script { ServerStream = (_, _, _) => Task.CompletedTask });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);

        for (int i = 0; i < 3; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        }
    }

    [Test]
    public async Task ClientWrite_OfNull_Throws()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Exception? exception = await CatchAsync(() => call.RequestStream.WriteAsync(null!));

        // Grpc.Core hands null to the marshaller, whose exception it is then.
        Assert.That(exception, IsShm ? Is.InstanceOf<ArgumentNullException>() : Is.Not.Null);
    }

    [Test]
    public async Task ClientWrite_AfterCompletion_Throws()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await call.RequestStream.CompleteAsync().Bounded();
        Exception? exception = await CatchAsync(() => call.RequestStream.WriteAsync(Payloads.Empty));

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
    }

    [Test]
    public async Task ClientWrite_WhileAnotherIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var mayRead = new TaskCompletionSource();
        CallRig rig = await StartAsync(
            new Script
            {
                ClientStream = async (requests, _) =>
                {
                    await mayRead.Task;
                    await requests.MoveNext(CancellationToken.None);
                    return Payloads.OfSize(requests.Current.Data.Length % 1000);
                },
            },
            RigOptions.AnySize);

        // Far more than any window, so that it waits for the reader.
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        Task first = call.RequestStream.WriteAsync(Payloads.OfSize(20_000_123));
        Exception? second = await CatchAsync(() => call.RequestStream.WriteAsync(Payloads.Empty));
        Exception? completion = await CatchAsync(() => call.RequestStream.CompleteAsync());

        Assert.That(first.IsCompleted, Is.False);
        Assert.That(second, Is.InstanceOf<InvalidOperationException>());
        Assert.That(completion, Is.InstanceOf<InvalidOperationException>());
        mayRead.SetResult();
        await first.Bounded();
        Assert.That((await call.ResponseAsync.Bounded()).Data.Length, Is.EqualTo(123));
    }

    [Test]
    public async Task StatusAndTrailers_BeforeTheEnd_Throw()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script { ServerStream = (_, _, _) => mayEnd.Task });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);

        Assert.That(() => call.GetStatus(), Throws.InvalidOperationException);
        Assert.That(() => call.GetTrailers(), Throws.InvalidOperationException);
        mayEnd.SetResult();
        await call.ResponseStream.ReadAllAsync();
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(call.GetTrailers(), Is.Empty);
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
}
