using System.Globalization;
using RpcOverShm.FunctionalTests.TwoProcess;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Clients that obey the protocol and make the server keep as much as they can. It stays below the documented bounds,
/// nearly all of it goes with them, and others are served meanwhile. The server has the default options, and a process
/// of its own, whose memory is measured.
/// </summary>
[Category("Attack")]
[Long(
    "Each attack fills the limits of a server and measures its neighbours.",
    "BufferLimitTests, UnreadAnswerTests, CallLimitTests")]
[OneMode]
internal sealed class HostileBillTests : PeerFixture
{
    private const long MiB = 1 << 20;

    // MaxConnectionBufferSize, the free arrays that are kept for reuse, and what the process needs for the attack.
    private const long MostDuring = (128 + 64 + 32) * MiB;

    // The free arrays and, of the shared pool, 4 MiB for each processor, with some space for the process itself.
    private static readonly long s_mostAfter = (64 + 32 + (4 * Environment.ProcessorCount)) * MiB;

    // The runtime's own, and what it keeps beside the living objects.
    private const long Slack = 64 * MiB;

    private static readonly PeerLimits s_limits = RawPeer.Generous with { RingCapacity = 1 << 20 };

    [Test]
    public Task RequestsThatNeverEnd() => AssertBoundedAsync(MostDuring, async peer =>
    {
        byte[] chunk = new byte[64 << 10];
        for (int slot = 0; slot < 150; slot++)
        {
            await SendAsync(peer, FrameKind.CallStart, slot, FrameFlags.None, UnaryHead, []);
            await SendAsync(peer, FrameKind.Message, slot, FrameFlags.Single, [], chunk, argument: 4 << 20);
            for (int sent = 1; sent < (4 << 20) / chunk.Length && !peer.TryReceive(out _); sent++)
            {
                await SendAsync(peer, FrameKind.MessageChunk, slot, FrameFlags.None, [], chunk[..^1]);
            }
        }
    },
    served => served.Bytes > 120 * MiB);

    [Test]
    public Task HeadsThatNeverEnd() => AssertBoundedAsync(MostDuring, async peer =>
    {
        byte[] part = new byte[60_000];
        for (int slot = 0; slot < 1000; slot++)
        {
            await SendAsync(peer, FrameKind.CallStart, slot, FrameFlags.HeadContinues, part, []);
            for (int sent = 1; sent < 5; sent++)
            {
                if (peer.TryReceive(out _))
                {
                    break; // This head, or an earlier one, was refused.
                }

                await SendAsync(peer, FrameKind.HeadChunk, slot, FrameFlags.HeadContinues, part, []);
            }
        }
    },
    served => served.Bytes > 64 * MiB);

    [TestCase(150, 16)]
    [TestCase(2000, 1)]
    public Task AnswersThatNobodyReads(int calls, int sizeMiB) => AssertBoundedAsync(MostDuring, async peer =>
    {
        byte[] request = Message($"answer {sizeMiB * MiB}");
        for (int slot = 0; slot < calls; slot++)
        {
            await SendAsync(
                peer, FrameKind.CallStart, slot, FrameFlags.HasMessage | FrameFlags.HalfClose, UnaryHead, request);
        }
    },
    // Half of the limit, less what is in the ring; or the whole, if many answers were serialised at the same moment.
    // Then the budget has no bytes for calls that wait, so they were refused.
    served => served is { Running: 0, Waiting: > 0, Bytes: > 48 * MiB } or { Running: 0, Bytes: > 128 * MiB });

    // 10,000 methods hold a request of 4 KiB each and as many wait.
    [Test]
    public Task AllCallsAtOnce() => AssertBoundedAsync(MostDuring + (10_000L * (8 << 10)), async peer =>
    {
        byte[] request = Message("rest" + new string('x', 4000));
        for (int slot = 0; slot < peer.PeerLimits.MaxCalls; slot++)
        {
            await SendAsync(
                peer, FrameKind.CallStart, slot, FrameFlags.HasMessage | FrameFlags.HalfClose, UnaryHead, request);
        }
    },
    served => served is { Running: 10_000, Waiting: 10_000 });

    // The calls of closed connections count for their user: 128 MiB, and one connection's window beyond.
    [Test]
    public async Task OneWayCalls_OfAClientThatConnectsAgainAndAgain()
    {
        const int Connections = 500;
        const int CallsOfEach = 250;
        const long CostOfCall = (1 << 10) + 1000;
        Testing.PeerProcess server = await StartPeerAsync();
        await server.DoAsync($"serve-default {Address} {Directory.Word}");
        ScriptClient innocent = OpenClient();
        await innocent.UnaryAsync(Payloads.Of("before")).ResponseAsync.Bounded();
        Memory before = await MeasureAsync(server);
        byte[] request = Message("rest" + new string('x', 1000));
        for (int i = 0; i < Connections; i++)
        {
            using RawPeer peer = await RawPeer.ConnectAsync(Directory.Combine(SocketName), s_limits);
            for (int slot = 0; slot < CallsOfEach; slot++)
            {
                await SendAsync(
                    peer,
                    FrameKind.CallStart,
                    slot,
                    FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose,
                    UnaryHead,
                    request);
            }

            await peer.ReadByVictimAsync();
        }

        Served served = Served.Of(server);
        Memory during = await MeasureAsync(server);
        await innocent.UnaryAsync(Payloads.Of("innocent")).ResponseAsync.Bounded();

        TestContext.Out.WriteLine($"Before and during: {before}, {during}; {served}.");
        Assert.That(
            served.Running, Is.InRange(10_000, (128 * MiB / CostOfCall) + (2 * CallsOfEach)), "calls left behind");
        Assert.That(during.Heap - before.Heap, Is.LessThan(MostDuring + (4 * 128 * MiB)), "heap");
    }

    private static async Task SendAsync(
        RawPeer peer, FrameKind kind, int slot, FrameFlags flags, byte[] head, byte[] body, uint argument = 0) =>
        Assert.That(await peer.SendWhenThereIsSpaceAsync(
            new(kind, new CallId(slot, 1, isFromAcceptor: false), flags, head, body, argument)));

    private async Task AssertBoundedAsync(
        long mostDuring, Func<RawPeer, Task> attackAsync, Func<Served, bool> isComplete)
    {
        Testing.PeerProcess server = await StartPeerAsync();
        await server.DoAsync($"serve-default {Address} {Directory.Word}");
        ScriptClient innocent = OpenClient();
        await innocent.UnaryAsync(Payloads.Of("before")).ResponseAsync.Bounded();
        Memory before = await MeasureAsync(server);
        long connections = Served.Of(server).Connections;
        Memory during;
        using (RawPeer peer = await RawPeer.ConnectAsync(Directory.Combine(SocketName), s_limits))
        {
            await attackAsync(peer);
            await CompleteAsync(server, peer, isComplete);
            during = await MeasureAsync(server);
            await innocent.UnaryAsync(Payloads.Of("innocent")).ResponseAsync.Bounded();
        }

        await WhenGoneAsync(server, connections);
        Memory after = await MeasureAsync(server);
        TestContext.Out.WriteLine($"Before, during and after: {before}, {during}, {after}.");
        Assert.That(during.Heap - before.Heap, Is.LessThan(mostDuring), "heap, during the attack");
        Assert.That(after.Heap - before.Heap, Is.LessThan(s_mostAfter), "heap, after the attack");
        Assert.That(during.Resident - before.Resident, Is.LessThan(mostDuring + Slack), "resident, during the attack");
        Assert.That(after.Resident - before.Resident, Is.LessThan(s_mostAfter + Slack), "resident, after the attack");

        var meter = new FrontDoorMeter(Address, options => options.Connect.RuntimeDirectory = Directory.Option);
        await meter.AssertHarmlessAsync(async (stands, over) =>
        {
            using (RawPeer peer = await RawPeer.ConnectAsync(Directory.Combine(SocketName), s_limits))
            {
                await attackAsync(peer);
                await CompleteAsync(server, peer, isComplete);
                stands();
                await over;
            }

            await WhenGoneAsync(server, connections + 1);
        });
    }

    /// <summary>Waits until the attack cannot make the server keep more.</summary>
    private static async Task CompleteAsync(Testing.PeerProcess server, RawPeer peer, Func<Served, bool> isComplete)
    {
        await peer.ReadByVictimAsync();
        Served served = default;
        try
        {
            await Timeouts.Eventually(() => isComplete(served = Served.Of(server)));
        }
        catch (TimeoutException)
        {
            TestContext.Out.WriteLine($"The attack is not complete: {served}.");
            throw;
        }
    }

    /// <summary>Waits until the attacker's connection and methods are gone.</summary>
    private static Task WhenGoneAsync(Testing.PeerProcess server, long connectionsBefore) => Timeouts.Eventually(
        () => Served.Of(server) is { Running: 0, Bytes: 0 } now && now.Connections == connectionsBefore,
        "the attacker is gone");

    private static async Task<Memory> MeasureAsync(Testing.PeerProcess server)
    {
        long[] figures = Numbers(await server.DoAsync("heap"));
        return new Memory(figures[0], figures[1]);
    }

    private static long[] Numbers(string words) =>
        [.. words.Split(' ').Select(word => long.Parse(word, CultureInfo.InvariantCulture))];

    private readonly record struct Memory(long Heap, long Resident)
    {
        public override string ToString() => $"heap {Heap / MiB} MiB and resident {Resident / MiB} MiB";
    }

    /// <summary>The server's counts: connections, calls that wait, methods that run, and the bytes kept.</summary>
    private readonly record struct Served(long Connections, long Waiting, long Running, long Bytes)
    {
        public static Served Of(Testing.PeerProcess server)
        {
            long[] counts = Numbers(server.DoAsync("served").GetAwaiter().GetResult());
            return new Served(counts[0], counts[1], counts[2], counts[3]);
        }
    }
}
