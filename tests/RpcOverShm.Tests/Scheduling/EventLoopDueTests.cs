using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>When an event loop runs the sources that are due at a time.</summary>
[NonParallelizable]
public class EventLoopDueTests : EventLoopFixture
{
    [Test]
    public void SourceIsRunOnce_AndNotEarly()
    {
        FakeSource source = Add();
        long due = 0;
        long ran = 0;
        source.OnRun = () =>
        {
            ran = Stopwatch.GetTimestamp();
            if (source.Runs == 1)
            {
                due = DueTime.After(TimeSpan.FromMilliseconds(30));
                Loop.RequestAt(source, due);
            }
        };

        source.Request();

        Eventually(() => source.Runs == 2);
        SleepsWithoutActive();
        Assert.That(ran, Is.GreaterThanOrEqualTo(due));
        int runs = source.Runs;
        source.Request();
        Eventually(() => source.Runs > runs);
        SleepsWithoutActive();
        Assert.That(source.Runs, Is.EqualTo(3), "nothing is due any more");
    }

    [Test]
    public void TimeIsReplacedByALaterOne_AndByAnEarlierOne()
    {
        FakeSource source = Add();
        FakeSource other = Add();
        TimeSpan[] times = [TimeSpan.FromHours(1), TimeSpan.FromMilliseconds(10), TimeSpan.FromMilliseconds(50)];
        long due = 0;
        long ran = 0;
        source.OnRun = () =>
        {
            ran = Stopwatch.GetTimestamp();
            if (source.Runs == 1)
            {
                foreach (TimeSpan time in times)
                {
                    due = DueTime.After(time);
                    Loop.RequestAt(source, due);
                }
            }
        };
        other.OnRun = () => Loop.RequestAt(other, DueTime.After(TimeSpan.FromHours(1)));
        other.Request();

        source.Request();

        Eventually(() => source.Runs == 2);
        SleepsWithoutActive();
        Assert.That(ran, Is.GreaterThanOrEqualTo(due));
        Assert.That(other.Runs, Is.EqualTo(1));
    }

    [Test]
    public void SourceIsRun_WhileAnotherAlwaysHasWork()
    {
        FakeSource busy = Add();
        FakeSource source = Add();
        source.OnRun = () => Loop.RequestAt(source, DueTime.After(TimeSpan.FromMilliseconds(1)));
        busy.IsBusy = true;
        busy.Request();

        source.Request();

        Eventually(() => source.Runs >= 5);
        busy.IsBusy = false;
    }

    [Test]
    public void SourceThatIsRemoved_IsForgotten_AndTheThreadEnds()
    {
        FakeSource source = Add();
        Thread? thread = null;
        source.OnRun = () =>
        {
            Loop.RequestAt(source, DueTime.After(TimeSpan.FromMilliseconds(100)));
            Volatile.Write(ref thread, Thread.CurrentThread);
        };
        source.Request();
        Eventually(() => Volatile.Read(ref thread) is not null);

        RemoveAll();

        Eventually(() => !thread!.IsAlive);
        Assert.That(source.Runs, Is.EqualTo(1));
        FakeSource next = Add();
        next.Request();
        Eventually(() => next.Runs == 1);
    }

    [Test]
    public void SourceThatIsDueAfterTheEndOfItsLoop_IsNotKept()
    {
        WeakReference source = AddDue();
        RemoveAll();

        Eventually(() =>
        {
            GC.Collect();
            return !source.IsAlive;
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private WeakReference AddDue()
    {
        FakeSource source = Add();
        source.OnRun = () => Loop.RequestAt(source, DueTime.After(TimeSpan.FromHours(1)));
        source.Request();
        Eventually(() => source.Runs == 1);
        SleepsWithoutActive();
        return new WeakReference(source);
    }

    // With requests that end the loop's sleep in every phase: each due time is met all the same.
    [Test]
    public void TimesOfManySources_AreAllMet_BesideRequests()
    {
        const int Times = 200;
        FakeSource[] sources = [Add(), Add(), Add()];
        var met = new int[sources.Length];
        for (int i = 0; i < sources.Length; i++)
        {
            int own = i;
            long due = 0;
            sources[i].OnRun = () =>
            {
                if (due <= Stopwatch.GetTimestamp() && Volatile.Read(ref met[own]) < Times)
                {
                    Interlocked.Increment(ref met[own]);
                    due = DueTime.After(TimeSpan.FromMicroseconds(500 * (own + 1)));
                    Loop.RequestAt(sources[own], due);
                }
            };
            sources[i].Request();
        }

        TestThread.RunAll("requests", 2, thread =>
        {
            var random = new Random(thread);
            while (met.Any(count => count < Times))
            {
                sources[random.Next(sources.Length)].Request();
                Thread.SpinWait(random.Next(20_000));
            }
        });

        Assert.That(met, Is.All.EqualTo(Times));
        SleepsWithoutActive();
    }
}
