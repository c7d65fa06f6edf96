using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>User code that keeps an event loop, and the threads that go on with the loop.</summary>
[NonParallelizable]
public class EventLoopTakeOverTests : EventLoopFixture
{
    [Test]
    public void Rotation_GoesOnBehindTheSourceThatLostTheLoop()
    {
        const int Stuck = 4;
        using var isOver = new ManualResetEventSlim();
        var order = new List<string>();
        FakeSource slow = Add();
        FakeSource other = Add();
        slow.OnRun = () =>
        {
            order.Add("slow");
            slow.UserCode = slow.Runs <= Stuck ? isOver.Wait : null;
            slow.IsBusy = slow.Runs <= Stuck;
        };
        other.OnRun = () => order.Add("other");
        other.IsBusy = true;
        other.Request();
        Eventually(() => other.Runs > 0, "From now on it is in each rotation.");
        slow.Request();

        Eventually(() => slow.Runs > Stuck);
        other.IsBusy = false;
        isOver.Set();
        Eventually(() => Loop.StuckThreads == 0);

        for (int i = 1; i < order.Count; i++)
        {
            Assert.That(order[i] == "slow" && order[i - 1] == "slow", Is.False, "Each has its turn.");
        }
    }

    [Test]
    public void UserCode_ThatKeepsTheLoop_LosesIt()
    {
        using var hasBegun = new ManualResetEventSlim();
        using var isOver = new ManualResetEventSlim();
        FakeSource slow = Add();
        FakeSource other = Add();
        slow.UserCode = () =>
        {
            hasBegun.Set();
            isOver.Wait();
        };
        slow.Request();
        Assert.That(hasBegun.Wait(WaitMilliseconds));

        other.Request();

        Eventually(() => other.Runs == 1);
        Assert.That((Loop.StuckThreads, slow.TakeOvers, slow.HasKeptLoop), Is.EqualTo((1, 1, (bool?)null)));
        isOver.Set();
        Eventually(() => Loop.StuckThreads == 0);
        Assert.That(slow.HasKeptLoop, Is.False);
    }

    // The watchdog needs a millisecond at least to find that out.
    [Test]
    public void UserCode_ThatIsAboutToSleep_GivesTheLoopAway()
    {
        using var hasLeft = new ManualResetEventSlim();
        using var isOver = new ManualResetEventSlim();
        FakeSource slow = Add();
        FakeSource other = Add();
        slow.UserCode = () =>
        {
            LoopThread.LeaveLoopBeforeSleep();
            Assert.That(Loop.StuckThreads, Is.EqualTo(1));
            LoopThread.LeaveLoopBeforeSleep();
            Assert.That(Loop.StuckThreads, Is.EqualTo(1), "It is given away once.");
            hasLeft.Set();
            isOver.Wait();
        };
        slow.Request();
        Assert.That(hasLeft.Wait(WaitMilliseconds));

        other.Request();

        Eventually(() => other.Runs == 1);
        isOver.Set();
        Eventually(() => Loop.StuckThreads == 0 && slow.HasKeptLoop == false);
    }

    [Test]
    public void Quick_UserCodeNeverLosesTheLoop()
    {
        FakeSource source = Add();
        int runs = 0;
        while (runs < 2_000)
        {
            runs++;
            source.UserCode = () => Thread.SpinWait(50);
            source.Request();
            Eventually(() => source.UserCode is null);
        }

        SleepsWithoutActive();
        Assert.That((source.TakeOvers, source.HasKeptLoop), Is.EqualTo((0, true)));
    }

    [Test]
    public void Every_StuckThreadIsReplaced()
    {
        const int Stuck = 16;
        using var isOver = new ManualResetEventSlim();
        FakeSource[] slow = [.. Enumerable.Range(0, Stuck).Select(_ => Add())];
        Array.ForEach(slow, source => source.UserCode = isOver.Wait);

        Array.ForEach(slow, source => source.Request());

        Eventually(() => Loop.StuckThreads == Stuck);
        Assert.That(Loop.IsFullOfStuck, "No more user code should run here.");
        FakeSource other = Add();
        other.Request();
        Eventually(() => other.Runs == 1);
        isOver.Set();
        Eventually(() => Loop.StuckThreads == 0);
        Eventually(() => Threads("RpcOverShm spare") <= 1, "At most one waits as a spare.");
    }
}
