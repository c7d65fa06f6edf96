namespace RpcOverShm.FunctionalTests.Writes;

/// <summary>A reader that pauses stalls the writer of its own call, and no other call.</summary>
[EveryRig]
[Parallelizable]
internal sealed class BackpressureTests(RigKind kind) : RigFixture(kind)
{
    private const int MegaByte = 1 << 20;

    [Test]
    public async Task HandlerWrite_ToAClientThatDoesNotRead_StaysIncomplete()
    {
        var stuckAfter = new TaskCompletionSource<(int Written, Task Stuck)>();
        CallRig? rig = null;
        rig = await StartAsync(new Script
        {
            ServerStream = async (_, responses, _) =>
            {
                (int Written, Task Stuck) result = await WriteUntilStuckAsync(rig!, responses.WriteAsync);
                stuckAfter.SetResult(result);
                await result.Stuck;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        (int written, Task stuck) = await stuckAfter.Task.Bounded();

        Assert.That(IsDotNet && stuck.IsCompleted, Is.False);
        List<Payload> messages = await call.ResponseStream.ToListAsync();
        await stuck.Bounded();
        Assert.That(messages, Has.Count.EqualTo(written + 1));
        Assert.That(messages.Select((message, i) => message.IsOfSize(MegaByte, (ulong)i)), Is.All.True);
    }

    [Test]
    public async Task PausedReaders_Many_HoldUpNobodyElse()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (_, responses, _) =>
            {
                for (int i = 0; i < 20; i++)
                {
                    await responses.WriteAsync(Payloads.OfSize(100_000, (ulong)i));
                }
            },
        });

        AsyncServerStreamingCall<Payload>[] paused =
        [
            .. Enumerable.Range(0, 50).Select(_ => rig.Client.ServerStream(Payloads.Empty)),
        ];
        await UnaryCallsAsync(rig, 100);
        foreach (AsyncServerStreamingCall<Payload> call in paused)
        {
            List<Payload> messages = await call.ResponseStream.ToListAsync();
            Assert.That(messages.Select((message, i) => message.IsOfSize(100_000, (ulong)i)), Is.All.True);
            Assert.That(messages, Has.Count.EqualTo(20));
        }
    }

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
        (int written, Task stuck) = await WriteUntilStuckAsync(rig, call.RequestStream.WriteAsync);

        Assert.That(IsDotNet && stuck.IsCompleted, Is.False);
        mayRead.SetResult();
        await stuck.Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That((await call.ResponseAsync.Bounded()).Data.Length, Is.EqualTo(written + 1));
    }

    [TestCase(64 << 10, 8 << 20)]
    [TestCase(1 << 20, 8 << 20)]
    [TestCase(64 << 10, 64 << 20, Category = LongAttribute.Name)]
    [TestCase(1 << 20, 64 << 20, Category = LongAttribute.Name)]
    [Item("C13")]
    public async Task PausedReader_WhileLargeMessagesPassBothWays_HoldsUpNobodyElse(int ring, int bytes)
    {
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
        Task<Payload> there = rig.Client.UnaryAsync(Payloads.OfSize(bytes, 1)).ResponseAsync;
        Task<Payload> back = rig.Client.UnaryAsync(Payloads.OfSize(bytes, 2)).ResponseAsync;
        await UnaryCallsAsync(rig, 100);
        Payload[] large = await Task.WhenAll(there, back).Bounded();

        Assert.That(large[0].IsOfSize(bytes, 1) && large[1].IsOfSize(bytes, 2));
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

    /// <summary>
    /// Writes until a write stays incomplete for two seconds and while other calls run. On shared memory the first
    /// write that waits must stay so; the C core's window may grow a few times, because other calls feed its
    /// bandwidth estimate.
    /// </summary>
    private async Task<(int Written, Task Stuck)> WriteUntilStuckAsync(CallRig rig, Func<Payload, Task> write)
    {
        for (int i = 0; i < 200; i++)
        {
            Task writing = write(Payloads.OfSize(MegaByte, (ulong)i));
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

    /// <summary>Makes unary calls, one after the other, and checks their responses.</summary>
    public static async Task UnaryCallsAsync(CallRig rig, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Payload response = await rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded();
            Assert.That(response.IsOfSize(i));
        }
    }
}
