using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>
/// The base of fixtures about the bytes that a client makes the server keep: 1 MiB is the limit of its connection.
/// </summary>
internal abstract class BufferFixture() : RigFixture(RigKind.Shm)
{
    protected const int LimitReached = 109;
    protected const int LimitBytes = 1 << 20;

    protected static PeerLimits PeerRing { get; } = RawPeer.Generous with { RingCapacity = 1 << 20 };

    protected static RigOptions Options(
        bool isOfServer = false, int? running = null, Action<ShmServerOptions>? change = null)
    {
        return new RigOptions { ServerMaxReceive = LimitBytes, Server = Change };

        void Change(ShmServerOptions options)
        {
            options.Limits.MaxConnectionBufferSize = LimitBytes;
            options.Limits.MaxBufferSize = isOfServer ? LimitBytes : 1 << 30;
            options.Limits.MaxConcurrentCallsPerConnection = running ?? options.Limits.MaxConcurrentCallsPerConnection;
            change?.Invoke(options);
        }
    }

    protected static CallId IdOf(int slot) => new(slot, 1, isFromAcceptor: false);

    // The budget of the connection that came last.
    protected static async Task<BufferBudget> BudgetAsync(ShmRig rig)
    {
        await Timeouts.Eventually(() => rig.Served.Count > 0);
        return rig.Served.MaxBy(served => served.PeerName)!.BufferBudget;
    }

    protected static async Task SendAsync(
        RawPeer peer, FrameKind kind, int slot, FrameFlags flags, byte[] head, byte[] body, uint argument = 0) =>
        Assert.That(await peer.SendWhenThereIsSpaceAsync(new(kind, IdOf(slot), flags, head, body, argument)));

    protected static Task StartWholeAsync(RawPeer peer, int slot, byte[] request, byte[]? head = null) => SendAsync(
        peer, FrameKind.CallStart, slot, FrameFlags.HasMessage | FrameFlags.HalfClose, head ?? UnaryHead, request);

    protected static async Task AssertServedAsync(ShmRig rig)
    {
        Payload answer = await rig.Client.UnaryAsync(Payloads.Of("innocent")).ResponseAsync.Bounded();
        Assert.That(answer.CalculateSize(), Is.Positive);
    }

    protected static Task AssertNothingKeptAsync(ShmRig rig, BufferBudget budget) => Timeouts.Eventually(
        () => budget.UsedBytes == 0 && budget.UnsentBytes == 0 && rig.Server.Running!.BufferBudget.UsedBytes == 0,
        "everything is given back");
}
