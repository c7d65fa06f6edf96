using RpcOverShm.FunctionalTests.Scheduling;

namespace RpcOverShm.FunctionalTests.Writes;

/// <summary>Concurrent calls and blocking user code.</summary>
[EveryRig]
internal sealed class ClientFlowTests(RigKind kind) : RigFixture(kind)
{
    private const int MegaByte = 1 << 20;

    [Test]
    [Item("C12")]
    public async Task WriteAsync_ToAMethodThatDoesNotRead_StaysIncomplete()
    {
        var mayRead = new TaskCompletionSource();
        CallRig rig = await StartAsync(
            new Script
            {
                ClientStream = async (requests, _) =>
                {
                    await mayRead.Task;
                    int count = 0;
                    while (await requests.MoveNext(CancellationToken.None))
                    {
                        count++;
                    }

                    return Payloads.OfSize(count);
                },
            });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        (int written, Task stuck) = await WriteUntilStuckAsync(rig, call.RequestStream);

        Assert.That(IsDotNet && stuck.IsCompleted, Is.False);
        mayRead.SetResult();
        await stuck.Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That((await call.ResponseAsync.Bounded()).Data.Length, Is.EqualTo(written + 1));
    }

    [Test]
    [Item("C13")]
    public async Task PausedReader_WhileLargeMessagesPassBothWays_HoldsUpNobodyElse(
        [Values(64 << 10, 1 << 20)] int ring)
    {
        const int Bytes = 64 << 20;
        CallRig rig = await StartAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    for (int i = 0; i < 50; i++)
                    {
                        await responses.WriteAsync(Payloads.OfSize(MegaByte, (ulong)i));
                    }
                },
            },
            RigOptions.AnySize with { RingCapacity = ring });

        using AsyncServerStreamingCall<Payload> paused = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await paused.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Task<Payload> there = rig.Client.UnaryAsync(Payloads.OfSize(Bytes, 1)).ResponseAsync;
        Task<Payload> back = rig.Client.UnaryAsync(Payloads.OfSize(Bytes, 2)).ResponseAsync;
        await UnaryCallsAsync(rig, 100);
        Payload[] large = await Task.WhenAll(there, back).Bounded();

        Assert.That(large[0].IsOfSize(Bytes, 1) && large[1].IsOfSize(Bytes, 2));
        Assert.That((await paused.ResponseStream.ToListAsync()).Count, Is.EqualTo(49));
    }

    [Test]
    [Item("C13")]
    public async Task PausedDuplexReader_WhileItsRequestsGoOn_HoldsUpNobodyElse()
    {
        CallRig rig = await StartAsync(
            new Script
            {
                // Reads all requests, and writes more responses than the client reads.
                Duplex = async (requests, responses, _) =>
                {
                    Task writing = Task.Run(async () =>
                    {
                        for (int i = 0; i < 64; i++)
                        {
                            await responses.WriteAsync(Payloads.OfSize(MegaByte, (ulong)i));
                        }
                    });
                    while (await requests.MoveNext(CancellationToken.None))
                    {
                    }

                    await writing;
                },
            },
            RigOptions.AnySize);

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        for (int i = 0; i < 64; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.OfSize(MegaByte, (ulong)i)).Bounded();
        }

        await UnaryCallsAsync(rig, 100);
        await call.RequestStream.CompleteAsync().Bounded();
        List<Payload> responses = await call.ResponseStream.ToListAsync();

        Assert.That(responses, Has.Count.EqualTo(64));
        Assert.That(responses.Select((response, i) => response.IsOfSize(MegaByte, (ulong)i)), Is.All.True);
    }

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
        await UnaryCallsAsync(rig, 50);
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

    /// <summary>
    /// Writes until a write stays incomplete for two seconds and while other calls run. On shared memory the first
    /// write that waits must stay so; the C core's window may grow a few times, because other calls feed its
    /// bandwidth estimate.
    /// </summary>
    private async Task<(int Written, Task Stuck)> WriteUntilStuckAsync(
        CallRig rig, IClientStreamWriter<Payload> requests)
    {
        for (int i = 0; i < 200; i++)
        {
            Task writing = requests.WriteAsync(Payloads.OfSize(MegaByte, (ulong)i));
            if (await Task.WhenAny(writing, Task.Delay(TimeSpan.FromSeconds(2))) != writing)
            {
                await UnaryCallsAsync(rig, 20);
                if (IsDotNet || !writing.IsCompleted)
                {
                    return (i, writing);
                }
            }

            await writing;
        }

        throw new AssertionException("200 MiB were written to nobody: there is no back-pressure.");
    }

    private static async Task UnaryCallsAsync(CallRig rig, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Payload response = await rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded();
            Assert.That(response.IsOfSize(i));
        }
    }
}
