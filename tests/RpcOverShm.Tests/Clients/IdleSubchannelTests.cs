using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Clients;

/// <summary>A subchannel whose looks for idle connections the test makes, to servers worked by hand.</summary>
internal sealed class IdleSubchannelTests
{
    [Test]
    public async Task Connection_QuietInTwoLooksAfterTheFirst_ClosesInOrder()
    {
        await using SubchannelRig rig = await ConnectAsync();
        RawPeer server = rig.TakeServer();
        Connection only = rig.Subchannel.Current!;

        Look(rig, times: IdleTimer.QuietChecks);
        ConnectivityState before = rig.Subchannel.State;
        Look(rig);

        Assert.That(
            (before, rig.Subchannel.State), Is.EqualTo((ConnectivityState.Ready, ConnectivityState.Idle)));
        Assert.That(rig.Subchannel.Current, Is.Null);
        await only.Closed.Bounded();
        Assert.That(server.Receive().Kind, Is.EqualTo(FrameKind.GoAway));
        Assert.That(only.CloseReason!.Text, Does.Contain("IdleTimeout"));
    }

    [Test]
    public async Task CallBetweenTwoLooks_KeepsTheConnection()
    {
        await using SubchannelRig rig = await ConnectAsync();
        RawPeer server = rig.TakeServer();
        Connection only = rig.Subchannel.Current!;

        for (int i = 0; i < 5; i++)
        {
            Look(rig, times: IdleTimer.QuietChecks);
            await CallAsync(only, server);
        }

        Assert.That(rig.Subchannel.Current, Is.SameAs(only));
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Ready));
    }

    [Test]
    public async Task RunningCall_KeepsItsConnection()
    {
        await using SubchannelRig rig = await ConnectAsync();
        RawPeer server = rig.TakeServer();
        Connection only = rig.Subchannel.Current!;
        RecordingCall call = Start(only);

        Look(rig, times: 5);

        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Ready));
        server.Send(new RawFrame(FrameKind.End, server.Receive().Call));
        await Timeouts.Eventually(() => call.IsWaitOver && only.OutgoingTwoWayCount == 0);
        Look(rig, times: IdleTimer.QuietChecks);
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Ready), "The first look finds the end.");
        Look(rig);
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Idle));
    }

    [Test]
    public async Task NextCall_AfterTheClose_ConnectsAnew_AndLooksBeginAnew()
    {
        await using SubchannelRig rig = await ConnectAsync();
        rig.TakeServer();
        Connection first = rig.Subchannel.Current!;
        Look(rig, times: 1 + IdleTimer.QuietChecks);
        StartResult late = first.StartCall(new RecordingCall(), FrameFlags.None, "head"u8, default);

        Connection second = await rig.GetAsync().Bounded();
        Look(rig, times: IdleTimer.QuietChecks);

        Assert.That(late, Is.EqualTo(StartResult.Closed), "A call that had chosen it goes on to the second.");
        Assert.That(second, Is.Not.SameAs(first));
        Assert.That(rig.Subchannel.Current, Is.SameAs(second));
    }

    [Test]
    public async Task Looks_WithoutAConnection_CountForNothing()
    {
        await using var rig = new SubchannelRig();
        rig.Listen();

        Look(rig, times: 5);
        await rig.GetAsync().Bounded();
        Look(rig, times: IdleTimer.QuietChecks);

        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Ready));
    }

    private static async Task<SubchannelRig> ConnectAsync()
    {
        var rig = new SubchannelRig();
        rig.Listen();
        await rig.GetAsync().Bounded();
        return rig;
    }

    private static void Look(SubchannelRig rig, int times = 1)
    {
        for (int i = 0; i < times; i++)
        {
            rig.Subchannel.CheckIdle();
        }
    }

    private static RecordingCall Start(Connection connection)
    {
        var call = new RecordingCall();
        Assert.That(
            connection.StartCall(call, FrameFlags.None, "head"u8, default), Is.EqualTo(StartResult.Started));
        return call;
    }

    private static async Task CallAsync(Connection connection, RawPeer server)
    {
        RecordingCall call = Start(connection);
        server.Send(new RawFrame(FrameKind.End, server.Receive().Call));
        await Timeouts.Eventually(() => call.IsWaitOver && connection.OutgoingTwoWayCount == 0);
    }
}
