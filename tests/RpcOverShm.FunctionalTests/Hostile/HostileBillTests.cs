using System.Globalization;
using RpcOverShm.FunctionalTests.TwoProcess;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Clients that obey the protocol and make the server keep as much as they can. It stays below the documented bounds,
/// nearly all of it goes with them, and an innocent client is served meanwhile. The server has the default options, and
/// a process of its own, whose memory is measured.
/// </summary>
internal sealed class HostileBillTests : PeerFixture
{
    private const long MiB = 1 << 20;

    // MaxConnectionBufferSize, the free arrays that are kept for reuse, and what the process needs for the attack.
    private const long MostDuring = (128 + 64 + 32) * MiB;

    // The free arrays and, of the shared pool, 4 MiB for each processor, with some space for the process itself.
    private static readonly long s_mostAfter = (64 + 32 + (4 * Environment.ProcessorCount)) * MiB;

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
    });

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
    });

    [Test]
    public Task AnswersThatNobodyReads() => AssertBoundedAsync(MostDuring, async peer =>
    {
        byte[] request = Message("answer");
        for (int slot = 0; slot < 60; slot++)
        {
            await SendAsync(
                peer, FrameKind.CallStart, slot, FrameFlags.HasMessage | FrameFlags.HalfClose, UnaryHead, request);
        }
    });

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
    });

    private static async Task SendAsync(
        RawPeer peer, FrameKind kind, int slot, FrameFlags flags, byte[] head, byte[] body, uint argument = 0) =>
        Assert.That(
            await peer.SendWhenThereIsSpaceAsync(
                kind, new CallId(slot, 1, isFromAcceptor: false), flags, head, body, argument));

    private static async Task<(long Heap, long Resident)> MeasureAsync(Testing.PeerProcess server)
    {
        long[] figures =
        [
            .. (await server.DoAsync("heap")).Split(' ').Select(word => long.Parse(word, CultureInfo.InvariantCulture)),
        ];
        return (figures[0], figures[1]);
    }

    /// <summary>Measures while methods still work on their answers, and returns the highest figures.</summary>
    private static async Task<(long Heap, long Resident)> MeasureMostAsync(Testing.PeerProcess server)
    {
        (long Heap, long Resident) most = default;
        for (int i = 0; i < 20; i++)
        {
            (long heap, long resident) = await MeasureAsync(server);
            most = (Math.Max(most.Heap, heap), Math.Max(most.Resident, resident));
            await Task.Delay(50);
        }

        return most;
    }

    /// <summary>Measures once the attacker's socket is closed.</summary>
    private static async Task<(long Heap, long Resident)> MeasureWhenGoneAsync(
        Testing.PeerProcess server, string factsBefore)
    {
        using var bound = new CancellationTokenSource(Timeouts.Wait);
        while (Sockets(await server.DoAsync("facts")) > Sockets(factsBefore))
        {
            await Task.Delay(20, bound.Token);
        }

        (long Heap, long Resident) measured = await MeasureAsync(server);
        for (int i = 0; i < 20 && measured.Heap > s_mostAfter; i++)
        {
            await Task.Delay(50, bound.Token); // The ends of cancelled methods.
            measured = await MeasureAsync(server);
        }

        return measured;

        static int Sockets(string facts) => int.Parse(facts.Split(' ')[0], CultureInfo.InvariantCulture);
    }

    private async Task AssertBoundedAsync(long mostDuring, Func<RawPeer, Task> attackAsync)
    {
        Testing.PeerProcess server = await StartServingPeerAsync();
        ScriptClient innocent = OpenClient();
        await innocent.UnaryAsync(Payloads.Of("before")).ResponseAsync.Bounded();
        (long Heap, long Resident) before = await MeasureAsync(server);
        string facts = await server.DoAsync("facts");
        (long Heap, long Resident) during;
        int calls = 0;
        using (RawPeer peer = await RawPeer.ConnectAsync(Directory.Combine(SocketName), s_limits))
        {
            Task attack = Task.Run(() => attackAsync(peer));
            while (!attack.IsCompleted)
            {
                Payload answer = await innocent.UnaryAsync(Payloads.Of("innocent")).ResponseAsync.Bounded();
                Assert.That(answer.Text(), Is.EqualTo("innocent"));
                calls++;
            }

            await attack.Bounded();
            await peer.ReadByVictimAsync();
            during = await MeasureMostAsync(server);
            await innocent.UnaryAsync(Payloads.Of("innocent")).ResponseAsync.Bounded();
        }

        (long Heap, long Resident) after = await MeasureWhenGoneAsync(server, facts);

        TestContext.Out.WriteLine(
            $"heap {before.Heap / MiB} {during.Heap / MiB} {after.Heap / MiB} MiB, "
            + $"resident {before.Resident / MiB} {during.Resident / MiB} {after.Resident / MiB} MiB, "
            + $"{calls} innocent calls");
        Assert.That(during.Heap - before.Heap, Is.LessThan(mostDuring), "during the attack");
        Assert.That(after.Heap - before.Heap, Is.LessThan(s_mostAfter), "after the attack");
    }
}
