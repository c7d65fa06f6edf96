using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Clients that obey the protocol but misbehave: they never read, never stop, or lie about being parked. Other clients
/// must not be affected, and memory stays bounded.
/// </summary>
internal sealed class HostileHabitTests : VictimFixture
{
    private const long BoundedBytes = 300L << 20;

    [Test]
    public async Task NeverFreesSpace_StallsItselfOnly_AndAStopDoesNotWaitForIt()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        peer.StartServerStream("flood");
        for (int i = 1; i < 100; i++)
        {
            peer.StartUnary(new CallId(i, 1, false));
        }

        await victim.AssertUnharmedAsync();
        await victim.Rig.Server.StopAsync(TimeSpan.FromSeconds(1)).Bounded();

        Assert.That(await peer.ClosedAsync(), Is.Empty, "it has broken no rule");
    }

    [Test]
    public async Task NeverFreesSpace_OnManyConnections_NeedsNoThreads()
    {
        const int Connections = 100;
        int mostThreadsMore = 8 + Environment.ProcessorCount; // event loops, and a few others
        Victim victim = await StartVictimAsync();
        int before = ProcessResources.CountThreads("RpcOverShm");
        var peers = new List<RawPeer>();
        try
        {
            for (int i = 0; i < Connections; i++)
            {
                peers.Add(await RawPeer.ConnectAsync(victim.Place));
                peers[i].StartServerStream("flood");
            }

            await Timeouts.Eventually(
                () => peers.TrueForAll(peer => peer.PeerTail > peer.PeerLimits.RingCapacity - 8192),
                "all rings are full");
            Assert.That(
                () => ProcessResources.CountThreads("RpcOverShm") - before,
                Is.LessThanOrEqualTo(mostThreadsMore).After(20_000, 10));
            await victim.AssertUnharmedAsync();
        }
        finally
        {
            peers.ForEach(peer => peer.Dispose());
        }
    }

    [Test]
    public async Task NeverReads_AndStartsAllTheCallsItMay_CostsBoundedMemory()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        long before = GC.GetTotalMemory(forceFullCollection: true);

        // Unread responses wait in the server's memory; their number is limited by the number of calls.
        for (int slot = 0; slot < peer.PeerLimits.MaxCalls; slot++)
        {
            await peer.SendWhenThereIsSpaceAsync(WholeCall(
                new CallId(slot, 1, false), Head("/no.such.Service/Method")));
        }

        await victim.AssertUnharmedAsync();
        Assert.That(GC.GetTotalMemory(forceFullCollection: true) - before, Is.LessThan(BoundedBytes));

        // One more call, in a slot whose call has not ended yet.
        await peer.SendWhenThereIsSpaceAsync(new(FrameKind.CallStart, new CallId(15_000, 2, false), 0, UnaryHead));
        Assert.That(await peer.ClosedAsync(), Does.Contain("started twice or out of turn"));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task StartsCallsThatHold_BeyondTheLimit_IsClosedAndTheHandlersEnd()
    {
        int holding = 0;
        Victim victim = await StartVictimAsync(script => script.Unary = async (request, context) =>
        {
            if (request.Text() != "hold")
            {
                return request;
            }

            Interlocked.Increment(ref holding);
            try
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }
            finally
            {
                Interlocked.Decrement(ref holding);
            }

            return request;
        });
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        for (int slot = 0; slot < 5000; slot++)
        {
            await peer.SendWhenThereIsSpaceAsync(WholeCall(new CallId(slot, 1, false), UnaryHead, Message("hold")));
        }

        await Timeouts.Eventually(() => Volatile.Read(ref holding) == 5000);
        peer.StartStream(new CallId(0, 2, false));
        await peer.ClosedAsync();

        await Timeouts.Eventually(() => Volatile.Read(ref holding) == 0, "every handler's token fires");
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [TestCase(500)]
    [TestCase(20_000, Category = LongAttribute.Name)]
    public async Task RapidReset_CostsNobodyAnything(int resets)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        byte[] message = Message("hold");

        uint generation = 1;
        for (int i = 0; i < resets; i++)
        {
            var call = new CallId(0, generation, false);
            await peer.SendWhenThereIsSpaceAsync(WholeCall(call, UnaryHead, message));
            await peer.SendWhenThereIsSpaceAsync(new(FrameKind.Cancel, call));
            RawFrame end;
            while (!peer.TryReceive(out end))
            {
                await Task.Yield();
            }

            Assert.That(end.Kind, Is.EqualTo(FrameKind.End));
            generation = CallId.NextGeneration(generation);
        }

        await victim.AssertUnharmedAsync();
        await CallRig.WhenLoggedAsync();
        Assert.That(victim.Rig.Log.Of(PeerViolation), Is.Empty);
        await Timeouts.Eventually(
            () => victim.Rig.Served.All(served => served.PendingOrRunning <= 1), "the handlers of calls have ended");
    }

    [TestCase(100)]
    [TestCase(2000, Category = LongAttribute.Name)]
    public async Task SleepWords_OfAnyValue_CauseWakeUpsAtMost(int calls)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        var random = new Random(1);
        for (int i = 0; i < calls; i++)
        {
            Systems.SharedMemoryOrder.WriteFenced(ref peer.Own.ParkedForData, random.NextInt64());
            Systems.SharedMemoryOrder.WriteFenced(ref peer.Own.ParkedForSpace, -random.NextInt64());
            peer.StartUnary(new CallId(0, (uint)i + 1, false));
            RawFrame end = await peer.ReceiveAsync();
            Assert.That(end.Read().Text(), Is.EqualTo("raw"));
        }

        await victim.AssertUnharmedAsync();
    }

    [Test]
    public async Task NeverWakes_IsServedAfterTheSafetyTimeoutAtTheLatest()
    {
        Victim victim = await StartVictimAsync();
        victim.Rig.Log.Expect(LogGuard.LostWakeup);
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        // Long enough for the victim to sleep; then a record without a wake-up.
        await Task.Delay(100);
        peer.Writer.TryClaim(UnaryHead.Length, isControl: true, out Rings.RingClaim claim);
        UnaryHead.CopyTo(claim.Payload);
        peer.Writer.Commit(claim, new Rings.RecordHeader(
            (uint)UnaryHead.Length, (byte)FrameKind.CallStart, 0, (ushort)UnaryHead.Length, First.Value, 0));
        peer.Writer.Publish();

        // The innocent client's call and this one.
        await Timeouts.Eventually(
            () => victim.Rig.Served.Count(
                served => served.PendingOrRunning > 0 && served.Connection.IncomingCount == 1) == 2);

        await victim.AssertUnharmedAsync();
    }

    // The call's end waits for space while its requests arrive: the client still believes the call to be alive.
    [Test]
    public async Task RequestsOfARefusedCall_WhoseEndWaitsForSpace_AreNoViolation()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        peer.StartServerStream("flood");
        await FillAsync(victim, peer);

        var refused = new CallId(1, 1, false);
        peer.Send(FrameKind.CallStart, refused, 0, Head("/no.such.Service/Method"));
        for (int i = 0; i < 10; i++)
        {
            peer.Send(FrameKind.Message, refused, 0, body: new byte[100], argument: 100);
        }

        peer.Send(FrameKind.HalfClose, refused);
        await peer.ReadByVictimAsync();
        RawFrame end = await peer.ReceiveAsync(FrameKind.End);
        while (end.Call != refused)
        {
            end = await peer.ReceiveAsync(FrameKind.End);
        }

        Assert.That(StatusTrailer.Decode(end.Head).Status.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        await CallRig.WhenLoggedAsync();
        Assert.That(victim.Rig.Log.Of(PeerViolation), Is.Empty);
        await victim.AssertUnharmedAsync();
    }

    // A write that passed its check before the method returned is queued after the end of the call.
    [Test]
    public async Task WriteThatComesAfterTheEnd_IsNeverSent()
    {
        var mayGoOn = new TaskCompletionSource();
        var isSerializing = new TaskCompletionSource();
        Marshaller<Payload> blocking = Marshallers.Create<Payload>(
            (Payload message) =>
            {
                isSerializing.SetResult();
                mayGoOn.Task.Wait(Timeouts.Wait);
                return [1, 2, 3];
            },
            _ => Payloads.Empty);
        var method = new Method<Payload, Payload>(
            MethodType.ServerStreaming, "late.Writer", "Write", Script.UnaryMethod.RequestMarshaller, blocking);
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(method, async (Payload _, IServerStreamWriter<Payload> responses, ServerCallContext _) =>
            {
                Task late = Task.Run(() => responses.WriteAsync(Payloads.Empty));
                await Task.WhenAny(isSerializing.Task, late);
            })
            .Build();
        Victim victim = await StartVictimAsync(services: service);
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        peer.StartServerStream("flood");
        await FillAsync(victim, peer);

        var late = new CallId(1, 1, false);
        peer.Start(late, Head(method), Message("x"));
        await isSerializing.Task.Bounded();
        await Timeouts.Eventually(
            () => victim.Rig.Served.Sum(served => served.PendingOrRunning) == 2,
            "the late method has returned, beside the others");
        mayGoOn.SetResult();
        await Task.Delay(100);

        bool hasEnded = false;
        await Timeouts.Eventually(() =>
        {
            while (peer.TryReceive(out RawFrame frame))
            {
                Assert.That(hasEnded && frame.Call == late, Is.False, $"a {frame.Kind} after the end of its call");
                hasEnded |= frame.Kind == FrameKind.End && frame.Call == late;
                if (frame.Kind == FrameKind.End && frame.Call == First)
                {
                    return true;
                }
            }

            return false;
        });
        Assert.That(hasEnded);
        Assert.That(victim.Rig.Log.Of(MethodThrew), Is.Empty);
    }

    // Returns when the flood waits, because nothing more fits into the ring.
    private static async Task FillAsync(Victim victim, RawPeer peer)
    {
        long tail = -1;
        await Timeouts.Eventually(() =>
        {
            long last = tail;
            tail = peer.PeerTail;
            return tail > peer.PeerLimits.RingCapacity * 3 / 4 && tail == last;
        });
        await CallRig.WhenLoggedAsync();
        Assert.That(victim.Rig.Log.Of(PeerViolation), Is.Empty);
    }
}

/// <summary>A client streaming method that reads no request and runs until its call ends.</summary>
internal static class DeafService
{
    public static Method<Payload, Payload> Method { get; } =
        Script.Define(MethodType.ClientStreaming, "Listen", "rpcovershm.testing.Deaf");

    public static ServerServiceDefinition Build() =>
        ServerServiceDefinition.CreateBuilder().AddMethod(Method, ListenAsync).Build();

    private static async Task<Payload> ListenAsync(IAsyncStreamReader<Payload> requests, ServerCallContext context)
    {
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return Payloads.Empty;
    }
}
