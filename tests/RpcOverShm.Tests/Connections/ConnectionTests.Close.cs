using Microsoft.Extensions.Logging;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <content>The close of a connection.</content>
public partial class ConnectionTests
{
    [Test]
    public void Close_WithCallersThatBlock_EndsThemAll()
    {
        using var rig = new CallingRig();
        TestThread[] callers = rig.Block(out RecordingCall[] calls, 4);
        Array.ForEach(calls, _ => rig.Peer.Receive());

        rig.Connection.Close(new CloseReason(CloseKind.Local, "enough"));

        Array.ForEach(callers, caller => caller.Join());
        Assert.That(calls.Select(call => string.Join(", ", call.Events)), Is.All.EqualTo("closed: Local"));
    }

    [Test]
    public async Task Close_WithCallsThatNobodyBlocksFor_TellsEachOnce()
    {
        using var rig = new CallingRig();
        RecordingCall[] calls = [rig.Start(), rig.Start()];

        rig.Connection.Close(new CloseReason(CloseKind.Local, "enough"));
        await rig.Connection.Closed.Bounded();

        Assert.That(calls.Select(call => string.Join(", ", call.Events)), Is.All.EqualTo("closed: Local"));
        Assert.That(
            rig.Connection.StartCall(new RecordingCall(), 0, default, default), Is.EqualTo(StartResult.Closed));
    }

    [Test]
    public async Task Close_OfWhichACallThrows_EndsTheOthersAndFreesTheMemory()
    {
        var unmapped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var links = new LinkPair();
        links.Client.OnUnmapped = unmapped.SetResult;
        using var rig = new CallingRig(links);
        RecordingCall[] calls = [rig.Start(), rig.Start(), rig.Start()];
        var ran = new TaskCompletionSource<PendingUserCode>(TaskCreationOptions.RunContinuationsAsynchronously);
        calls[1].OnWork = ran.SetResult;
        calls[1].OnEvent = (call, _) =>
        {
            call.AddUserCode(PendingUserCode.Complete);
            throw new InvalidOperationException("Planned.");
        };

        rig.Connection.Close(new CloseReason(CloseKind.Local, "enough"));
        await rig.Connection.Closed.Bounded();
        await unmapped.Task.Bounded();

        Assert.That(calls.Select(call => string.Join(", ", call.Events)), Is.All.EqualTo("closed: Local"));
        Assert.That(await ran.Task.Bounded(), Is.EqualTo(PendingUserCode.Complete), "What was marked runs.");
        await Timeouts.Eventually(() => Errors().Any());
        Assert.That(Errors().Select(entry => entry.Exception?.Message), Is.EqualTo((string[])["Planned."]));

        IEnumerable<LogEntry> Errors() => links.Logger.Entries.Where(entry => entry.Level == LogLevel.Error);
    }

    [Test]
    public async Task Close_OfOneSide_EndsTheOther()
    {
        using var pair = new ConnectionPair(onEvent: (_, _) => { });
        var call = new RecordingCall();
        pair.Client.StartCall(call, FrameFlags.None, default, default);

        pair.Server.Close(new CloseReason(CloseKind.Local, "enough"));
        await pair.Client.Closed.Bounded();

        Assert.That(pair.Client.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerLost));
        Assert.That(call.Events, Is.EqualTo((string[])["closed: PeerLost"]));
    }

    [Test]
    public async Task Close_AfterGoAway_IsNoLossToTheOther()
    {
        using var pair = new ConnectionPair();
        pair.Server.Sender.SendGoAway();

        pair.Server.Close(new CloseReason(CloseKind.Local, "enough"));
        await pair.Client.Closed.Bounded();

        Assert.That(pair.Client.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerClosed));
    }

    [Test]
    public async Task Close_AmongCallsOfBothKinds_EndsEveryCallSomehow()
    {
        for (int round = 0; round < 60; round++)
        {
            using var pair = new ConnectionPair();
            using var start = new Barrier(5);
            TestThread[] blocking = [.. Enumerable.Range(0, 2).Select(_ => TestThread.Start("caller", () =>
            {
                start.SignalAndWait(Timeouts.Wait);
                StartResult result = StartResult.Started;
                while (result == StartResult.Started)
                {
                    var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);
                    result = pair.Client.RunCall(call, FrameFlags.None, default, default, null);
                    Assert.That(call.IsWaitOver, Is.EqualTo(result == StartResult.Started));
                }
            }))];
            Task[] awaiting = [.. Enumerable.Range(0, 2).Select(_ => Task.Run(async () =>
            {
                start.SignalAndWait(Timeouts.Wait);
                while (pair.Client.CloseReason is null)
                {
                    Task<RecordingCall> call = pair.RunAsync(1);
                    await Task.WhenAny(call, pair.Client.Closed).Bounded();
                }
            }))];

            start.SignalAndWait(Timeouts.Wait);
            Thread.SpinWait(round * 2000);
            (round % 2 == 0 ? pair.Client : pair.Server).Close(new CloseReason(CloseKind.Local, "enough"));

            Array.ForEach(blocking, thread => thread.Join());
            await Task.WhenAll(awaiting).Bounded();
        }
    }
}
