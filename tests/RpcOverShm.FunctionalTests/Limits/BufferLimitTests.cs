using Google.Protobuf;
using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>
/// The limits on the bytes that a client makes the server keep: what exceeds them is refused for its call only, or
/// waits, and everything is given back in the end.
/// </summary>
internal sealed class BufferLimitTests : BufferFixture
{
    private const int PartBytes = 64 << 10;

    // Each call keeps its part and a little more, counted in steps of 4 KiB: 14 fit, and 15 do not.
    [TestCase(false)]
    [TestCase(true)]
    public async Task UnfinishedRequests_UpToTheLimit_AreKeptAndOthersRefused(bool isOfServer)
    {
        ShmRig rig = await StartShmAsync(new Script(), Options(isOfServer));
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        for (int i = 0; i < 14; i++)
        {
            await BeginRequestAsync(peer, i);
        }

        await peer.ReadByVictimAsync();
        bool hasRefused = peer.TryReceive(out _);
        long used = budget.UsedBytes;

        // The connection's limit is the server's too, so another client meets the server's.
        using RawPeer other = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        RawPeer last = isOfServer ? other : peer;
        await BeginRequestAsync(last, 14);
        RawFrame end = await last.ReceiveAsync(FrameKind.End);
        await AssertServedAsync(rig);
        for (int i = 0; i < 14; i++)
        {
            peer.Send(FrameKind.Cancel, IdOf(i));
            await peer.ReceiveAsync(FrameKind.End);
        }

        string option = isOfServer ? "MaxBufferSize" : "MaxConnectionBufferSize";
        Assert.That(hasRefused, Is.False);
        Assert.That(used, Is.InRange(14 * PartBytes, LimitBytes));
        Assert.That(end.Call, Is.EqualTo(IdOf(14)));
        AssertRefused(end, option);
        Assert.That((await rig.Log.WaitForAsync(LimitReached)).Message, Does.StartWith(option));
        await AssertNothingKeptAsync(rig, budget);
    }

    // Empty ones too: 10,000 of them, each with its array and its place in the queue, are about 1 MB.
    [TestCase(1000, 100, 100_000)]
    [TestCase(0, 10_000, 1_000_000)]
    public async Task UnreadRequestsOfAStream_CountUntilTheyAreRead(int size, int count, long bytes)
    {
        var mayRead = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ClientStream = async (requests, _) =>
                {
                    await mayRead.Task;
                    await foreach (Payload request in requests.ReadAllAsync())
                    {
                        Assert.That(request.IsOfSize(size));
                    }

                    return Payloads.Empty;
                },
            },
            Options(change: options => options.Limits.MaxConnectionBufferSize = 2 * LimitBytes));
        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        for (int i = 0; i < count; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.OfSize(size)).Bounded();
        }

        BufferBudget budget = await BudgetAsync(rig);
        await Timeouts.Eventually(() => budget.UsedBytes >= bytes, "the messages count");
        mayRead.SetResult();
        await call.RequestStream.CompleteAsync();
        await call.ResponseAsync.Bounded();

        await AssertNothingKeptAsync(rig, budget);
    }

    [Test]
    public async Task WaitingRequests_UpToTheLimit_AreKeptAndOthersRefused()
    {
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var script = new Script
        {
            Unary = async (_, _) =>
            {
                await mayEnd.Task;
                return Payloads.Empty;
            },
        };
        ShmRig rig = await StartShmAsync(script, Options(running: 1));
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        byte[] request = Payloads.OfSize(PartBytes).ToByteArray();
        for (int i = 0; i < 16; i++)
        {
            await StartWholeAsync(peer, i, request);
        }

        await peer.ReadByVictimAsync();
        bool hasRefused = peer.TryReceive(out _);
        await StartWholeAsync(peer, 16, request);
        RawFrame end = await peer.ReceiveAsync(FrameKind.End);
        mayEnd.SetResult();
        for (int i = 0; i < 16; i++)
        {
            await peer.ReceiveAsync(FrameKind.End);
        }

        Assert.That(hasRefused, Is.False, "One runs and 15 wait.");
        Assert.That(end.Call, Is.EqualTo(IdOf(16)));
        AssertRefused(end, "MaxConnectionBufferSize");
        await AssertNothingKeptAsync(rig, budget);
    }

    // A head of 65,535 bytes and its buffer count twice.
    [Test]
    public async Task UnfinishedHeads_UpToTheLimit_AreKeptAndOthersRefused()
    {
        ShmRig rig = await StartShmAsync(new Script(), Options());
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        for (int i = 0; i < 8; i++)
        {
            await BeginHeadAsync(peer, i);
        }

        await peer.ReadByVictimAsync();
        bool hasRefused = peer.TryReceive(out _);
        await BeginHeadAsync(peer, 8);
        RawFrame end = await peer.ReceiveAsync(FrameKind.End);
        await AssertServedAsync(rig);
        peer.Dispose();

        Assert.That(hasRefused, Is.False);
        Assert.That(end.Call, Is.EqualTo(IdOf(8)));
        AssertRefused(end, "MaxConnectionBufferSize");
        await AssertNothingKeptAsync(rig, budget);
    }

    [Test]
    public async Task HeadThatDoesNotComeInTime_FailsItsCallOnly()
    {
        ShmRig rig = await StartShmAsync(
            new Script(),
            new RigOptions { Server = options => options.Limits.RequestHeadTimeout = TimeSpan.FromSeconds(2) });
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        byte[] head = Head(Script.UnaryMethod);
        await BeginHeadAsync(peer, 0);
        await BeginHeadAsync(peer, 1);

        // A head in time, in two parts, stays without effect on the timer of the others.
        await SendAsync(peer, FrameKind.CallStart, 2, FrameFlags.HeadContinues, head[..5], []);
        await SendAsync(peer, FrameKind.HeadChunk, 2, FrameFlags.None, head[5..], []);
        await SendAsync(peer, FrameKind.Message, 2, FrameFlags.HalfClose, [], Message("x"), argument: 3);
        RawFrame[] ends = [.. await ReceiveEndsAsync(peer, 3)];

        // Its rest is dropped, whenever it comes.
        await SendAsync(peer, FrameKind.HeadChunk, 0, FrameFlags.HeadContinues, new byte[100], []);
        await SendAsync(peer, FrameKind.HeadChunk, 0, FrameFlags.None, new byte[100], []);
        await peer.ReadByVictimAsync();
        await AssertServedAsync(rig);

        Assert.That(ends.Select(end => end.Call), Is.EqualTo((CallId[])[IdOf(2), IdOf(0), IdOf(1)]));
        Assert.That(ends[0].Head, Is.Empty, "The head in time is served.");
        Status late = StatusTrailer.Decode(ends[1].Head).Status;
        Assert.That(late.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(late.Detail, Does.Contain("RequestHeadTimeout").And.Contain("2 s"));
        Assert.That((await rig.Log.WaitForAsync(LimitReached)).Message, Does.StartWith("RequestHeadTimeout = 2000"));
        await AssertNothingKeptAsync(rig, budget);
    }

    [Test]
    public void NamesOfTheOptions_AreThoseOfThePublicType() => Assert.That(
        typeof(ServerLimits).GetFields().Where(field => field.IsLiteral).Select(field => (string)field.GetValue(null)!),
        Is.SubsetOf(typeof(ShmServerLimits).GetProperties().Select(property => property.Name)).And.Not.Empty);

    private static async Task BeginRequestAsync(RawPeer peer, int slot)
    {
        await SendAsync(peer, FrameKind.CallStart, slot, FrameFlags.None, UnaryHead, []);
        byte[] part = new byte[PartBytes - 16];
        await SendAsync(peer, FrameKind.Message, slot, FrameFlags.Single, [], part, argument: LimitBytes);
    }

    private static Task BeginHeadAsync(RawPeer peer, int slot) =>
        SendAsync(peer, FrameKind.CallStart, slot, FrameFlags.HeadContinues, new byte[60_000], []);

    private static async Task<List<RawFrame>> ReceiveEndsAsync(RawPeer peer, int count)
    {
        var ends = new List<RawFrame>();
        while (ends.Count < count)
        {
            ends.Add(await peer.ReceiveAsync(FrameKind.End));
        }

        return ends;
    }

    private static void AssertRefused(RawFrame end, string option)
    {
        Status status = StatusTrailer.Decode(end.Head).Status;
        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(status.Detail, Does.Contain($"({option})").And.Contain($"{LimitBytes} bytes"));
    }
}
