using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Clients that break the protocol: the server closes their connection, names the violation in its log and to the
/// client, and no other client is affected.
/// </summary>
internal sealed class HostileClientTests : VictimFixture
{
    public static IEnumerable<TestCaseData> Violations => RingViolations.All.Concat(ClientViolations.All)
        .Select(violation => new TestCaseData(violation) { TestName = $"Violation: {violation.Name}" });

    [TestCaseSource(nameof(Violations))]
    public async Task Violation_ClosesItsConnectionAndNoOther(object violation)
    {
        var what = (Violation)violation;
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        Task acting = what.ActAsync(peer);
        string lastWord = await peer.ClosedAsync();
        LogEntry entry = await victim.Rig.Log.WaitForAsync(PeerViolation);

        Assert.That(entry.Message, Does.Contain(what.Complaint));
        Assert.That(lastWord, Does.Contain(what.Complaint));
        await CallRig.WhenLoggedAsync();
        Assert.That(victim.Rig.Log.Of(PeerViolation), Has.Count.EqualTo(1));
        await acting.Bounded();
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task OneWayCalls_BeyondTheWindow_AreAViolation()
    {
        var let = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Victim victim = await StartVictimAsync(script => script.Unary = async (request, _) =>
        {
            if (request.Text() == "wait")
            {
                await let.Task;
            }

            return request;
        });
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        Task acting = SendManyOneWayAsync(peer);
        string lastWord = await peer.ClosedAsync();
        await acting.Bounded();

        Assert.That(lastWord, Does.Contain("The peer started a one-way call without capacity: earlier ones cost"));
        let.SetResult(); // Methods of one-way calls outlive the connection.
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task Tail_ThatGoesBackwards_IsAViolation()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        peer.StartUnary(First);
        await peer.ReceiveAsync(FrameKind.End);

        peer.SetTail(0);

        Assert.That(await peer.ClosedAsync(), Does.Contain("its tail is 0"));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // The victim reads the head only when it needs space, so the test makes it write.
    [TestCase(8, TestName = "Head: no multiple of 16")]
    [TestCase(1 << 20, TestName = "Head: beyond what was written")]
    [TestCase(-16, TestName = "Head: below zero")]
    [TestCase(long.MinValue, TestName = "Head: the smallest number")]
    public async Task Head_ThatCannotBe_IsAViolation(long head)
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        peer.SetHead(head);
        peer.StartServerStream("flood");

        Assert.That(await peer.ClosedAsync(), Does.Contain("The peer says it has read up to"));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task Head_ThatGoesBackwards_IsAViolation()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        peer.StartServerStream("flood");
        for (int i = 0; i < 30; i++)
        {
            await peer.ReceiveAsync();
        }

        peer.SetHead(0);

        Assert.That(await peer.ClosedAsync(), Does.Contain("The peer says it has read up to 0"));
        await victim.AssertUnharmedAndRidOfAsync();
    }

    // The rest may never come, and nothing of it is kept.
    [Test]
    public async Task Head_BeyondTheLimit_FailsItsCallBeforeItsEnd()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);
        byte[] part = new byte[8000];
        await peer.SendWhenThereIsSpaceAsync(new(FrameKind.CallStart, First, FrameFlags.HeadContinues, part));
        for (int i = 1; i < 50; i++)
        {
            await peer.SendWhenThereIsSpaceAsync(new(FrameKind.HeadChunk, First, FrameFlags.HeadContinues, part));
        }

        RawFrame end = await peer.ReceiveAsync(FrameKind.End);
        await peer.SendWhenThereIsSpaceAsync(new(FrameKind.HeadChunk, First, FrameFlags.None, part));
        await peer.SendWhenThereIsSpaceAsync(WholeCall(new CallId(0, 2, false), UnaryHead, Message("raw")));
        RawFrame next = await peer.ReceiveAsync();

        Assert.That(end.Call, Is.EqualTo(First));
        Assert.That(
            StatusTrailer.Decode(end.Head).Status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(next.Read().Text(), Is.EqualTo("raw"));
        await victim.AssertUnharmedAsync();
    }

    [Test]
    public async Task Garbage_OnTheSocketAfterTheHandshake_IsAViolation()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        Assert.That(peer.TrySendBytes("this is no handshake message"u8));

        await victim.Rig.Log.WaitForAsync(PeerViolation);
        await victim.AssertUnharmedAndRidOfAsync();
    }

    [Test]
    public async Task SecondHello_OnTheSocket_IsAViolation()
    {
        Victim victim = await StartVictimAsync();
        using RawPeer peer = await RawPeer.ConnectAsync(victim.Place);

        // Without a descriptor, because a kernel since Linux 6.16 refuses to pass one here.
        Assert.That(peer.TrySendBytes(RawHello.Of(HelloType.Client, RawPeer.Generous).Encode()));

        await victim.Rig.Log.WaitForAsync(PeerViolation);
        await victim.AssertUnharmedAndRidOfAsync();
    }

    private static async Task SendManyOneWayAsync(RawPeer peer)
    {
        for (int slot = 0; slot < 2000; slot++)
        {
            await peer.SendWhenThereIsSpaceAsync(
                WholeCall(new CallId(slot, 1, false), UnaryHead, Message("wait"), FrameFlags.OneWay));
        }
    }
}
