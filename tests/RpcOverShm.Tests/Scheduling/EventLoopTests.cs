using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>When an event loop runs its sources and parks them.</summary>
[NonParallelizable]
public class EventLoopTests : EventLoopFixture
{
    [Test]
    public void Request_OfAParkedSource_RunsItOnceAndParksItAgain()
    {
        FakeSource source = Add();
        SleepsWithoutActive();

        source.Request();

        Eventually(() => source.Runs == 1);
        SleepsWithoutActive();
        Assert.That((source.Runs, source.Entered, source.Left), Is.EqualTo((1, 1, 1)));
    }

    [Test]
    public void Request_BeforeTheSourceIsAdded_WaitsForThat()
    {
        var source = new FakeSource();
        source.Request();

        Add(source);

        Eventually(() => source.Runs == 1);
    }

    // With pauses that let the loop fall asleep now and then, in every phase of its way there.
    [Test]
    public void Request_OfManyThreads_IsNeverLost()
    {
        const int Threads = 4;
        const int Requests = 5_000;
        FakeSource[] sources = [Add(), Add(), Add()];

        TestThread.RunAll("requests", Threads, thread =>
        {
            var random = new Random(thread);
            for (int i = 0; i < Requests; i++)
            {
                FakeSource source = sources[random.Next(sources.Length)];
                source.AddWork();
                source.Request();
                Thread.SpinWait(random.Next(random.Next(20) == 0 ? 20_000 : 100));
            }
        });

        Eventually(() => sources.Sum(source => source.Done) == Threads * Requests);
        SleepsWithoutActive();
    }

    [Test]
    public void Doorbell_RunsTheSource_AndIsReadAfterwards()
    {
        FakeSource source = Add();
        SleepsWithoutActive();

        source.Ring();

        Eventually(() => source.RunsAtDrain == 1);
        SleepsWithoutActive();
        Assert.That(source.Doorbells, Is.EqualTo(1));

        source.Ring();
        Eventually(() => source.RunsAtDrain == 2);
    }

    [Test]
    public void End_OfASocket_IsToldWithTheDoorbell()
    {
        FakeSource source = Add();

        source.EndSocket();

        Eventually(() => source.HasEnded);
        SleepsWithoutActive();
    }

    // There may be no memory for it, and then the source would be requested for ever.
    [Test]
    public void Request_OfAParkedSource_AllocatesNothing()
    {
        FakeSource source = Add();
        long allocated = 0;
        for (int i = 0; i < 20; i++)
        {
            int runs = source.Runs;
            SleepsWithoutActive();
            allocated = GC.GetAllocatedBytesForCurrentThread();
            source.Request();
            allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
            Eventually(() => source.Runs > runs);
        }

        Assert.That(allocated, Is.Zero, "The first requests also prepare types.");
    }

    // 64 is the most that one look at the sockets returns.
    [Test]
    public void Doorbells_OfManySources_AreAllHeard()
    {
        FakeSource[] sources = [.. Enumerable.Range(0, 200).Select(_ => Add())];
        SleepsWithoutActive();

        Array.ForEach(sources, source => source.Ring());

        Eventually(() => sources.All(source => source.Runs > 0));
        SleepsWithoutActive();
        Assert.That(sources.Select(source => source.Doorbells), Is.All.EqualTo(1));
    }

    [Test]
    public void Doorbell_IsHeardWhileAnotherSourceAlwaysHasWork()
    {
        FakeSource busy = Add();
        FakeSource source = Add();
        busy.IsBusy = true;
        busy.Request();
        Eventually(() => busy.Runs > 1000);

        source.Ring();

        Eventually(() => source.Runs > 0);
        Assert.That(busy.IsActive);
        busy.IsBusy = false;
    }

    // A rotation with many busy sources takes milliseconds.
    [Test]
    public void Doorbell_DoesNotWaitForAWholeRotation()
    {
        const int Busy = 50;
        const int Attempts = 20;
        int runs = 0;
        FakeSource[] busy = [.. Enumerable.Range(0, Busy).Select(_ => Add())];
        foreach (FakeSource source in busy)
        {
            source.OnRun = () =>
            {
                Volatile.Write(ref runs, runs + 1);
                Thread.SpinWait(2_000);
            };
            source.IsBusy = true;
            source.Request();
        }

        var waits = new List<int>();
        FakeSource newcomer = Add();
        for (int i = 1; i <= Attempts; i++)
        {
            int before = 0;
            int wait = 0;
            newcomer.OnRun = () => Volatile.Write(ref wait, runs - before);
            Eventually(() => !newcomer.IsActive);
            Volatile.Write(ref before, Volatile.Read(ref runs));
            newcomer.Ring();
            Eventually(() => newcomer.Runs == i);
            waits.Add(Volatile.Read(ref wait));
        }

        Array.ForEach(busy, source => source.IsBusy = false);
        Assert.That(waits.Min(), Is.LessThan(Busy / 4), "Runs of others after the doorbell.");
    }

    [Test]
    public void Silent_SourceIsParked_WhileAnotherAlwaysHasWork()
    {
        FakeSource busy = Add();
        FakeSource source = Add();
        busy.IsBusy = true;
        busy.Request();
        source.Request();
        Eventually(() => source.Runs > 0);

        Eventually(() => !source.IsActive);

        Assert.That(busy.IsActive);
        busy.IsBusy = false;
    }

    // A look in a long rotation costs little, compared with the doorbell of a parked source.
    [Test]
    public void Silent_SourceStaysActive_WhileRotationsAreLong()
    {
        FakeSource busy = Add();
        FakeSource source = Add();
        busy.OnRun = () => Thread.Sleep(10);
        busy.IsBusy = true;
        busy.Request();
        Eventually(() => busy.Runs > 3, "The loop knows its rotations; before that, it may have spun.");
        source.Request();
        Eventually(() => source.Runs == 1 && !source.IsActive, "It was silent for long, so it is parked soon.");
        int runs = busy.Runs;
        Eventually(() => busy.Runs > runs + 1, "It is parked; a request before that would count for its first run.");
        runs = busy.Runs;
        source.Request();
        Eventually(() => source.Runs == 2);

        Eventually(() => !source.IsActive);

        Assert.That(busy.Runs - runs, Is.GreaterThan(50), "It was looked at 200 times in vain, or nearly.");
        busy.IsBusy = false;
    }

    [Test]
    public void Source_ThatMayNotPark_KeepsTheLoopAwake()
    {
        FakeSource source = Add();
        source.MayPark = false;
        source.Request();
        Eventually(() => source.Runs == 1);

        long begun = Environment.TickCount64;
        while (Environment.TickCount64 - begun < 20)
        {
            Assert.That(source.IsActive);
            Assert.That(Loop.IsAwake);
        }

        FakeSource other = Add();
        other.Ring();
        Eventually(() => other.Doorbells == 1, "Meanwhile the sockets of others are heard.");

        source.MayPark = true;
        SleepsWithoutActive();
    }

    [Test]
    public void Unattended_SourceIsRunAgain()
    {
        FakeSource source = Add();
        source.NeedsReaderOnce = true;

        source.Request();

        Eventually(() => source.Runs == 2);
        SleepsWithoutActive();
    }

    [Test]
    public void Removed_SourceIsNotRunAgain()
    {
        FakeSource source = Add();
        source.OnRun = () => Loop.Remove(source);
        source.IsBusy = true;

        source.Request();

        Eventually(() => source.Left == 1);
        source.Request();
        source.Ring();
        FakeSource other = Add();
        other.Request();
        Eventually(() => other.Runs == 1);
        Assert.That((source.Runs, source.IsRemoved, source.IsActive), Is.EqualTo((1, true, false)));
    }

    [Test]
    public void Lost_DoorbellIsFound_AndTheSourceIsRun()
    {
        FakeSource source = Add();
        SleepsWithoutActive();
        source.Missed = new MissedDoorbell(IsForSpace: false, 16);

        Eventually(() => source.LostDoorbells > 0);

        source.Missed = null;
        Eventually(() => source.Runs > 0);
    }

    [Test]
    public void Lost_DoorbellIsFound_WhileAnotherSourceAlwaysHasWork()
    {
        FakeSource busy = Add();
        FakeSource source = Add();
        busy.IsBusy = true;
        busy.Request();
        Eventually(() => busy.Runs > 1000);
        source.Missed = new MissedDoorbell(IsForSpace: false, 16);

        Eventually(() => source.LostDoorbells > 0);

        source.Missed = null;
        Eventually(() => source.Runs > 0);
        Assert.That(busy.IsActive);
        busy.IsBusy = false;
    }

    [Test]
    public void Late_DoorbellsOfDataAndOfSpace_AtTheSamePosition_AreNotLost()
    {
        using var source = new FakeSource(); // in no loop, which would check it too

        source.Missed = new MissedDoorbell(IsForSpace: false, 16);
        Assert.That(source.CheckParked(isOnTime: true), Is.True);
        source.Missed = new MissedDoorbell(IsForSpace: true, 16);
        Assert.That(source.CheckParked(isOnTime: true), Is.True);
        Assert.That(source.LostDoorbells, Is.Zero);
        source.Missed = null;
    }

    [Test]
    public void Late_DoorbellsAtDifferentPositions_AreNotLost()
    {
        using var source = new FakeSource(); // in no loop, which would check it too

        Assert.That(Check(16), Is.True);
        Assert.That(Check(32), Is.True);
        Assert.That(Check(null), Is.False);
        Assert.That(Check(32), Is.True);
        Assert.That(source.LostDoorbells, Is.Zero);
        Assert.That(source.CheckParked(isOnTime: false), Is.True, "A check that is late shows nothing.");
        Assert.That(source.LostDoorbells, Is.Zero);
        Assert.That(Check(32), Is.False);
        Assert.That(source.LostDoorbells, Is.EqualTo(1));

        source.Missed = null;

        bool Check(long? at)
        {
            source.Missed = at is { } position ? new MissedDoorbell(IsForSpace: false, position) : null;
            return source.CheckParked(isOnTime: true);
        }
    }

    [Test]
    public void Thread_EndsAfterTheLastSource_AndStartsAgain()
    {
        Thread? thread = null;
        FakeSource source = Add();
        source.OnRun = () => Volatile.Write(ref thread, Thread.CurrentThread);
        source.Request();
        Eventually(() => Volatile.Read(ref thread) is not null);

        RemoveAll();

        Assert.That(thread!.IsAlive, "It stays for some seconds.");
        Eventually(() => !thread.IsAlive, "The thread ends some seconds later.");
        FakeSource next = Add();
        next.Request();
        Eventually(() => next.Runs == 1);
    }

    [Test]
    public void Sources_GoToTheLoopWithTheFewest()
    {
        var group = new EventLoopGroup(processors: 8);
        FakeSource[] sources = [.. Enumerable.Range(0, 12).Select(_ => new FakeSource())];

        Array.ForEach(sources, source => source.AddTo(group));

        Assert.That(
            sources.GroupBy(source => source.Loop).Select(loop => loop.Count()), Is.EqualTo([3, 3, 3, 3]));
        foreach (FakeSource source in sources)
        {
            source.Request();
            Eventually(() => source.Runs == 1);
            source.RemoveFrom(source.Loop!);
            Eventually(() => source.Entered == source.Left);
            source.Dispose();
        }
    }
}
