using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Servers that want their clients to pay for the pages of the server's ring: as <see cref="HostileMoveTests"/>, with
/// the roles exchanged.
/// </summary>
[LinuxOnly("A section of Windows has no holes.")]
internal sealed class HollowServerTests() : RigFixture(RigKind.Shm)
{
    private const int PeerViolation = 103;
    private const int Large = 1 << 20;

    private static readonly PeerLimits s_limits = RawPeer.Generous with { RingCapacity = Large };

    [Test]
    public async Task PagesBehindTheEnd_AreNoneOfTheRing([Values] bool hasFirstRing)
    {
        ShmRig rig = await StartWithoutServerAsync();
        rig.Log.Expect(PeerViolation);
        using var listener = new RawServer(rig.Place);
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Task<RpcException> failing = FailureOf(call.ResponseStream.ToListAsync());
        using var hollow = HollowSegment.WithPagesBehindTheEnd(Large, hasFirstRing);
        using RawPeer server = await listener.AcceptAsync(s_limits, hollow.Segment);
        long before = 0;
        if (hasFirstRing)
        {
            await server.ReceiveAsync(FrameKind.CallStart);
            before = hollow.Pages;
            server.MoveTo(LargestMessage(Large));
            hollow.FreeBehindTheEnd();
            Assert.That(await server.ClosedAsync(), Does.Contain("has holes"));
        }

        RpcException failure = await failing.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(hasFirstRing ? StatusCode.Internal : StatusCode.Unavailable));
        Assert.That(failure.Status.Detail, Does.Contain("has holes"));
        Assert.That(hollow.Pages, Is.LessThanOrEqualTo(before + 1), "the page that the server has written");
    }

    [Test]
    public async Task PagesThatWereOnlyRead_StayOnceTheClientHasTakenThem()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var listener = new RawServer(rig.Place);
        Task<RpcException> call = FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        using var hollow = HollowSegment.WithPagesThatWereRead(Large);
        long all = hollow.Pages;

        // The client has opened the segment when its call comes.
        using RawPeer server = await listener.AcceptCallAsync(s_limits, hollow.Segment);
        hollow.PageOut();
        long left = hollow.Pages;
        hollow.ReadAllPages();
        server.MoveTo(new RecordHeader(0, (byte)FrameKind.End, 0, 0, First.Value, 0));
        await server.ReadByVictimAsync();
        hollow.PageOut();

        Assert.That(left, Is.LessThan(all), "Those that the client had not taken are dropped.");
        Assert.That(hollow.Pages, Is.EqualTo(all));
        Assert.That((await call.Bounded()).StatusCode, Is.EqualTo(StatusCode.Internal), "an End without a message");
    }
}
