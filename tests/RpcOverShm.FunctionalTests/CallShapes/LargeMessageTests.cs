using Google.Protobuf;

namespace RpcOverShm.FunctionalTests.CallShapes;

/// <summary>Messages larger than a record, a call's window and the whole ring, through the smallest ring.</summary>
[Parallelizable]
internal sealed class LargeMessageTests() : RigFixture(RigKind.Shm)
{
    private const int SmallestRing = 64 << 10;

    private static readonly RigOptions s_smallRings = RigOptions.AnySize with { RingCapacity = SmallestRing };

    [Test]
    public async Task Echo_ThroughTheSmallestRing_OfEverySizeAroundItsBorders(
        [Values(8100, 8160, 8175, 8176, 8177, 8192, 16384, 32767, 65535, 65536, 65537, 262144, 1000000)] int bytes,
        [Values] bool isBlocking)
    {
        ShmRig rig = await StartShmAsync(new Script(), s_smallRings);

        Payload response = isBlocking
            ? await Timeouts.OnThread(() => rig.Client.Unary(Payloads.OfSize(bytes))).Bounded()
            : await rig.Client.UnaryAsync(Payloads.OfSize(bytes)).ResponseAsync.Bounded();

        Assert.That(response.IsOfSize(bytes));
    }

    [Test]
    public async Task Duplex_ThroughTheSmallestRing_BothWaysAtOnce()
    {
        ShmRig rig = await StartShmAsync(new Script(), s_smallRings);

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task writing = Task.Run(async () =>
        {
            for (int i = 0; i < 20; i++)
            {
                await call.RequestStream.WriteAsync(Payloads.OfSize(1_000_003, (ulong)i));
            }

            await call.RequestStream.CompleteAsync();
        });
        List<Payload> responses = await call.ResponseStream.ToListAsync();
        await writing.Bounded();

        Assert.That(responses.Select((response, i) => response.IsOfSize(1_000_003, (ulong)i)), Is.All.True);
        Assert.That(responses, Has.Count.EqualTo(20));
    }

    // If one call's chunks were sent without a break, the small call would wait for the whole large message.
    [Test]
    public async Task Chunks_OfSeveralCalls_TakeTurns()
    {
        const int Bytes = 32 << 20;
        var events = new List<string>();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    lock (events)
                    {
                        events.Add(request.Data.Length > 1000 ? "large" : "small");
                    }

                    return Task.FromResult(Payloads.Empty);
                },
            },
            s_smallRings);
        await rig.Client.UnaryAsync(Payloads.Of("connected")).ResponseAsync.Bounded();
        var zeros = new Payload { Data = UnsafeByteOperations.UnsafeWrap(new byte[Bytes]) };

        Task large = rig.Client.UnaryAsync(zeros).ResponseAsync;
        Task[] small =
            [.. Enumerable.Range(0, 20).Select(_ => rig.Client.UnaryAsync(Payloads.Of("small")).ResponseAsync)];
        await Task.WhenAll(small).Bounded();
        await large.Bounded();

        Assert.That(events.TakeWhile(name => name == "small").Count(), Is.GreaterThan(10));
    }

    [Test]
    public async Task ManyLargeCalls_AtOnce_AreEachByteForByteTheSame([Values(SmallestRing, 1 << 20)] int ring)
    {
        ShmRig rig = await StartShmAsync(new Script(), RigOptions.AnySize with { RingCapacity = ring });

        bool[] isRight = await Task.WhenAll(Enumerable.Range(0, 16).Select(async i =>
        {
            int bytes = 500_000 + (i * 100_003);
            return (await rig.Client.UnaryAsync(Payloads.OfSize(bytes, (ulong)i))).IsOfSize(bytes, (ulong)i);
        })).Bounded();

        Assert.That(isRight, Is.All.True);
    }

    [Test]
    public async Task UnequalRings_PassLargeMessagesBothWays()
    {
        ShmRig rig = await StartShmAsync(new Script(), s_smallRings);
        ShmChannel channel = rig.OpenChannel(options => options.Ring.Capacity = 8 << 20);
        var client = new ScriptClient(channel.CreateCallInvoker());

        Payload response = await client.UnaryAsync(Payloads.OfSize(20_000_000)).ResponseAsync.Bounded();

        Assert.That(response.IsOfSize(20_000_000));
    }
}
