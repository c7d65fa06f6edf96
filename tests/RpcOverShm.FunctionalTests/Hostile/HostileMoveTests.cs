using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Clients whose ring grows in a way that the protocol forbids, or that do not follow when the server's grows.
/// </summary>
internal sealed class HostileMoveTests : VictimFixture
{
    private const int Large = 1 << 20;
    private const long First = SegmentLayout.MinRingCapacityBytes;

    private static readonly PeerLimits s_limits = RawPeer.Generous with { RingCapacity = Large };
    private static readonly RecordHeader s_move = new(0, RecordHeader.MovedKind, 0, 0, 0, 0);

    private static long FirstPages => SegmentLayout.FirstSizeBytes(Large) / Environment.SystemPageSize;

    private static TestCaseData[] Violations =>
    [
        Violation("to a ring with holes", hasSecondRing: false, "has holes", peer =>
        {
            peer.Plant(0, s_move);
            peer.SetTail(48);
        }).SetCategory(LinuxOnlyAttribute.Name), // A section of Windows has no holes.
        Violation("with a payload", hasSecondRing: true, "has other fields than its kind", peer =>
        {
            peer.Plant(0, new RecordHeader(16, RecordHeader.MovedKind, 0, 0, 0, 0));
            peer.SetTail(64);
        }),
        Violation("with a flag", hasSecondRing: true, "has other fields than its kind", peer =>
        {
            peer.Plant(0, new RecordHeader(0, RecordHeader.MovedKind, 1, 0, 0, 0));
            peer.SetTail(48);
        }),
        Violation("a second time", hasSecondRing: true, "no ring to move to", peer =>
        {
            peer.Send(FrameKind.GoAway);
            long tail = peer.Own.Tail;
            peer.PlantInSecond(tail, s_move);
            peer.SetTail(tail + RecordHeader.SizeBytes);
        }),
        Violation("with more than fits", hasSecondRing: true, "more was written than fits into its second ring", peer =>
        {
            peer.Plant(0, s_move);
            peer.SetTail(First + peer.Own.SecondCapacity);
        }),
    ];

    [TestCaseSource(nameof(Violations))]
    public async Task Move_ThatIsForbidden_ClosesItsConnectionAndNoOther(
        bool hasSecondRing, string complaint, object act)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place, s_limits, hasSecondRing);

        ((Action<RawPeer>)act)(peer);

        Assert.That(await peer.ClosedAsync(), Does.Contain(complaint));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // A change of the size to what it is frees the pages behind the end. A server that took them for those of the ring
    // would then pay for each page that it reads.
    [Test]
    [LinuxOnly("A section of Windows has no holes.")]
    public async Task PagesBehindTheEnd_AreNoneOfTheRing([Values] bool hasFirstRing)
    {
        Victim victim = await StartVictimAsync();
        using var hollow = HollowSegment.WithPagesBehindTheEnd(Large, hasFirstRing);
        Task<RawPeer> connecting = RawPeer.ConnectAsync(
            victim.Place, s_limits, hasSecondRing: false, hollow.Segment);
        if (hasFirstRing)
        {
            using RawPeer peer = await connecting;
            peer.StartStream(RawFrames.First);
            await peer.ReadByVictimAsync();
            peer.MoveTo(RawFrames.LargestMessage(Large));
            hollow.FreeBehindTheEnd();

            Assert.That(await peer.ClosedAsync(), Does.Contain("has holes"));
            Assert.That(hollow.Pages, Is.EqualTo(FirstPages + 1), "the first ring, and the record that was written");
        }
        else
        {
            Assert.That(() => connecting, Throws.InvalidOperationException.With.Message.Contains("has holes"));
            Assert.That(hollow.Pages, Is.Zero);
        }

        await victim.AssertUnharmedAndRidOfAsync();
    }

    // The kernel drops such pages when their owner asks, and the server would pay for those that it reads then.
    [Test]
    [LinuxOnly("A section of Windows has no holes.")]
    public async Task PagesThatWereOnlyRead_StayOnceTheServerHasTakenThem()
    {
        Victim victim = await StartVictimAsync();
        using var hollow = HollowSegment.WithPagesThatWereRead(Large);
        long all = hollow.Pages;
        using RawPeer peer = await RawPeer.ConnectAsync(
            victim.Place, s_limits, hasSecondRing: false, hollow.Segment);
        hollow.PageOut();
        long firstPages = hollow.Pages;
        hollow.ReadAllPages();
        peer.MoveTo(new RecordHeader(0, (byte)FrameKind.GoAway, 0, 0, 0, 0));
        await peer.ReadByVictimAsync();
        hollow.PageOut();

        Assert.That(firstPages, Is.InRange(FirstPages, all - 1), "those that the server had not taken are dropped");
        Assert.That(hollow.Pages, Is.EqualTo(all));
        await victim.AssertUnharmedAsync();
    }

    [Test]
    [LinuxOnly("A section of Windows has no holes.")]
    public async Task PagesThatAreDroppedBeforeTheMove_AreHoles()
    {
        Victim victim = await StartVictimAsync();
        using var hollow = HollowSegment.WithPagesThatWereRead(Large);
        using RawPeer peer = await RawPeer.ConnectAsync(
            victim.Place, s_limits, hasSecondRing: false, hollow.Segment);
        peer.StartStream(RawFrames.First);
        await peer.ReadByVictimAsync();
        hollow.PageOut();
        long left = hollow.Pages;
        peer.MoveTo(RawFrames.LargestMessage(Large));

        Assert.That(await peer.ClosedAsync(), Does.Contain("has holes"));
        Assert.That(hollow.Pages, Is.LessThanOrEqualTo(left + 1));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task Client_ThatStopsReadingBeforeTheMove_StallsItselfOnly_AndAStopDoesNotWaitForIt()
    {
        Victim victim = await StartVictimAsync(
            script => script.ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                while (request.Text() == "flood" && !context.CancellationToken.IsCancellationRequested)
                {
                    await responses.WriteAsync(Payloads.OfSize(5000));
                }
            },
            RigOptions.AnySize with { RingCapacity = Large });
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        peer.StartServerStream("flood");

        // A ring grows once it is full for the second time, and the peer has read in between.
        await Timeouts.Eventually(() => peer.IsVictimParkedForSpace, "the ring is full");
        long full = peer.PeerTail;
        while (peer.PeerTail == full)
        {
            await peer.ReceiveAsync();
        }

        // More than the first ring holds is written, so the server has moved.
        await Timeouts.Eventually(() => peer.PeerTail - peer.Reader.Position > First);
        await victim.AssertUnharmedAsync();
        await victim.Rig.Server.StopAsync(TimeSpan.FromSeconds(1)).Bounded();

        Assert.That(await peer.ClosedAsync(), Is.Empty, "it has broken no rule");
    }

    private static TestCaseData Violation(
        string name, bool hasSecondRing, string complaint, Action<RawPeer> act) =>
        new(hasSecondRing, complaint, act) { TestName = $"Move: {name}" };
}
