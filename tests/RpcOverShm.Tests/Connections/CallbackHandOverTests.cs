using RpcOverShm.Connections;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

/// <summary>User code of callbacks that a blocked thread shall run, when its call ends at the same moment.</summary>
internal sealed class CallbackHandOverTests
{
    private int _ran;

    [OneTimeSetUp]
    public static void KeepCleanContext() => TestThread.Start("clean", AmbientContext.CaptureClean).Join();

    [Test]
    public void TryRunHere_OfACallThatNobodyBlocksFor_OrThatIsDone_IsRefused()
    {
        var done = new RecordingCall(latch: new AutoResetLatch());
        done.Complete();

        Assert.That(new RecordingCall().TryRunOnBlockedThread(Due()), Is.False);
        Assert.That(done.TryRunOnBlockedThread(Due()), Is.False);
    }

    [Test]
    public void TryRunHere_OfABlockedCall_WakesItsThread_WhereverItSleeps()
    {
        int alarms = 0;
        var caller = new RecordingCall(latch: new AutoResetLatch { Alarm = () => alarms++ });
        Assert.That(caller.TryRunOnBlockedThread(Due()), Is.False, "It does not wait yet.");
        caller.AcceptCallbacks();

        Assert.That(caller.TryRunOnBlockedThread(Due()), Is.True);

        Assert.That(alarms, Is.EqualTo(1));
        Assert.That((caller.Latch!.IsSignalled, caller.Latch.HasWork), Is.EqualTo((true, true)));
        Assert.That(caller.HasWorkForThread);
        caller.Latch.Queue.RunOne(exception => throw exception);
        Assert.That((_ran, caller.HasWorkForThread), Is.EqualTo((1, false)));
    }

    [Test]
    public async Task Callback_ThatMeetsTheEndOfItsCall_RunsOnce()
    {
        RecordingCall caller = null!;
        RecordingCall callback = null!;
        int handedOver = 0;
        var race = new TwoThreadRace(10_000)
        {
            Prepare = () =>
            {
                caller = new RecordingCall(latch: new AutoResetLatch());
                caller.AcceptCallbacks();
                callback = Due();
            },
            Left = () =>
            {
                caller.Complete();
                caller.StopAcceptingCallbacks();
                return true;
            },
            Right = () =>
            {
                bool isTaken = caller.TryRunOnBlockedThread(callback);
                handedOver += isTaken ? 1 : 0;
                return isTaken;
            },
        };

        // Which comes first is the machine's choice, and for a while it may always choose the same.
        for (int runs = 0; runs < 20 && (race.BothSaw == 0 || race.OnlyLeftSaw == 0); runs++)
        {
            race.Run();
        }

        await Timeouts.Eventually(() => Volatile.Read(ref _ran) == handedOver);
        Assert.That(race.BothSaw, Is.Positive, "The end came last.");
        Assert.That(race.OnlyLeftSaw, Is.Positive, "The end came first.");
    }

    [Test]
    public async Task Callback_OfAThreadThatWasInterrupted_GoesToThePool()
    {
        var caller = new RecordingCall(latch: new AutoResetLatch());
        caller.AcceptCallbacks();
        Assert.That(caller.TryRunOnBlockedThread(Due()), Is.True);

        caller.StopAcceptingCallbacks();

        Assert.That(caller.TryRunOnBlockedThread(Due()), Is.False);
        await Timeouts.Eventually(() => Volatile.Read(ref _ran) == 1);
    }

    private RecordingCall Due()
    {
        var callback = new RecordingCall(isServed: true) { OnWork = _ => Interlocked.Increment(ref _ran) };
        callback.AddUserCode(PendingUserCode.Start);
        return callback;
    }
}
