using RpcOverShm.FunctionalTests.Scheduling;

namespace RpcOverShm.FunctionalTests.Writes;

/// <summary>Concurrent calls and blocking user code.</summary>
[EveryRig]
internal sealed class ClientFlowTests(RigKind kind) : RigFixture(kind)
{
    private const int MegaByte = 1 << 20;

    [Test]
    [Item("C18")]
    public async Task OneStub_CarriesThousandsOfCallsOfManyThreadsAtOnce()
    {
        const int Threads = 8;
        const int CallsPerThread = 500;
        var held = new HeldMethods();
        int mixedUp = 0;
        UnaryServerMethod<Payload, Payload> hold = held.Script.Unary;
        held.Script.Unary = (request, context) =>
        {
            if (context.RequestHeaders.GetValue("size") != $"{request.Data.Length}")
            {
                Interlocked.Increment(ref mixedUp);
            }

            return hold(request, context);
        };
        CallRig rig = await StartAsync(held.Script);
        ScriptClient stub = rig.Client;

        Task<Payload>[][] calls = await Task.WhenAll(Enumerable.Range(0, Threads).Select(thread => Task.Run(
            () => Enumerable.Range(0, CallsPerThread).Select(
                i => stub.UnaryAsync(Payloads.OfSize(i, (ulong)(thread + i)), Telling(i)).ResponseAsync).ToArray())))
            .Bounded();
        await Timeouts.Eventually(() => held.Begun == Threads * CallsPerThread, "all methods run at once");
        held.Release();

        for (int thread = 0; thread < Threads; thread++)
        {
            Payload[] responses = await Task.WhenAll(calls[thread]).Bounded();
            Assert.That(responses.Select((response, i) => response.IsOfSize(i, (ulong)(thread + i))), Is.All.True);
        }

        Assert.That(mixedUp, Is.Zero, "Each call has its own head and its own message.");

        static CallOptions Telling(int size) => new(new Metadata { { "size", $"{size}" } });
    }

    [Test]
    [Item("C19")]
    public async Task ContinuationThatBlocks_StallsNoOtherCall()
    {
        var mayAnswer = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, _) =>
            {
                // The response must not arrive before the client awaits it.
                await (request.Text() == "awaited" ? mayAnswer.Task : Task.CompletedTask);
                return request;
            },
        });
        using var mayGoOn = new ManualResetEventSlim();
        var blocks = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using AsyncDuplexStreamingCall<Payload, Payload> stream = rig.Client.Duplex();

        Task blocked = BlockAfterAsync(rig.Client.UnaryAsync(Payloads.Of("awaited")).ResponseAsync);
        mayAnswer.SetResult();
        await blocks.Task.Bounded();
        await BackpressureTests.UnaryCallsAsync(rig, 50);
        for (int i = 0; i < 50; i++)
        {
            await stream.RequestStream.WriteAsync(Payloads.OfSize(i)).Bounded();
            Assert.That(await stream.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        }

        Assert.That(blocked.IsCompleted, Is.False);
        mayGoOn.Set();
        await blocked.Bounded();

        async Task BlockAfterAsync(Task call)
        {
            await call.ConfigureAwait(false);
            blocks.SetResult();
            mayGoOn.Wait(Timeouts.Wait);
        }
    }

    [Test]
    [Item("C21")]
    public async Task BlockingCall_InsideASynchronizationContext_DoesNotDeadlock()
    {
        CallRig rig = await StartAsync(new Script());
        using var context = new OneThreadContext();

        await context.RunAsync(() =>
        {
            // No callback posted to the context runs until this method returns.
            Assert.That(rig.Client.Unary(Payloads.Of("one")).Text(), Is.EqualTo("one"));
            Assert.That(rig.Client.Unary(Payloads.OfSize(MegaByte)).IsOfSize(MegaByte));
            Assert.That(
                rig.Client.UnaryAsync(Payloads.Of("two")).ResponseAsync.GetAwaiter().GetResult().Text(),
                Is.EqualTo("two"));
            Assert.That(
                () => rig.Client.Unary(Payloads.Empty, new CallOptions(deadline: DateTime.MinValue)),
                Throws.TypeOf<RpcException>());
            return Task.CompletedTask;
        }).Bounded();
    }

    [Test]
    [Item("C21")]
    public async Task BlockingOnStreams_InsideASynchronizationContext_DoesNotDeadlock()
    {
        CallRig rig = await StartAsync(new Script());
        using var context = new OneThreadContext();

        await context.RunAsync(() =>
        {
            using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
            for (int i = 0; i < 20; i++)
            {
                call.RequestStream.WriteAsync(Payloads.OfSize(i)).GetAwaiter().GetResult();
                Assert.That(call.ResponseStream.MoveNext(CancellationToken.None).GetAwaiter().GetResult());
            }

            call.RequestStream.CompleteAsync().GetAwaiter().GetResult();
            Assert.That(call.ResponseStream.MoveNext(CancellationToken.None).GetAwaiter().GetResult(), Is.False);
            Assert.That(call.ResponseHeadersAsync.GetAwaiter().GetResult(), Is.Not.Null);
            return Task.CompletedTask;
        }).Bounded();
    }
}
