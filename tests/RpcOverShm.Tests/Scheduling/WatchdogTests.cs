using System.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

public class WatchdogTests
{
    private const string ThreadName = "RpcOverShm watchdog";

    private static readonly TimeSpan s_period = TimeSpan.FromMilliseconds(1);

    [Test]
    public async Task Watch_OfALook_CallsItUntilItIsDone()
    {
        var watched = new Watched(looks: 3);
        Watchdog.Watch(watched.Look);
        await watched.Ended.Bounded();

        await SeveralPeriodsAsync();

        Assert.That(watched.Count, Is.EqualTo(3));
    }

    [Test]
    public async Task Watch_OfManyLooks_CallsEach()
    {
        Watched[] all = [.. Enumerable.Range(1, 10).Select(looks => new Watched(looks))];
        Array.ForEach(all, watched => Watchdog.Watch(watched.Look));

        await Task.WhenAll(all.Select(watched => watched.Ended)).Bounded();
        await SeveralPeriodsAsync();

        Assert.That(all.Select(watched => watched.Count), Is.EqualTo(Enumerable.Range(1, 10)));
    }

    // A thousand connections that begin to be watched must not make the checks of one come early: two early checks
    // would take short user code for code that blocks.
    [Test]
    public async Task Watch_WhileOthersAreAddedAllTheTime_ChecksOnceAPeriodAtMost()
    {
        var times = new List<long>();
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Watchdog.Watch(() =>
        {
            times.Add(Stopwatch.GetTimestamp());
            if (times.Count < 30)
            {
                return times.Count % 3 == 0 ? WatchdogCheck.Later : WatchdogCheck.Soon;
            }

            ended.TrySetResult();
            return WatchdogCheck.Done;
        });

        while (!ended.Task.IsCompleted)
        {
            Watchdog.Watch(() => WatchdogCheck.Done);
            Thread.SpinWait(1000);
        }

        await ended.Task;
        Assert.That(
            times.Zip(times.Skip(1), Stopwatch.GetElapsedTime), Is.All.GreaterThanOrEqualTo(s_period));
    }

    [Test]
    public async Task Watch_OfTheSameLookTwice_CallsItForBoth()
    {
        var watched = new Watched(looks: 1);
        Func<WatchdogCheck> look = watched.Look;
        Watchdog.Watch(look);
        Watchdog.Watch(look);

        await watched.Ended.Bounded();
        await SeveralPeriodsAsync();

        Assert.That(watched.Count, Is.EqualTo(2));
    }

    [Test]
    public async Task Watch_AfterAllHaveEnded_WakesItAgain()
    {
        for (int i = 0; i < 3; i++)
        {
            var watched = new Watched(looks: 1);
            Watchdog.Watch(watched.Look);
            await watched.Ended.Bounded();
        }
    }

    [Test]
    public async Task Watch_FromWithinALook_IsAllowed()
    {
        var inner = new Watched(looks: 2);
        Watchdog.Watch(() =>
        {
            Watchdog.Watch(inner.Look);
            return WatchdogCheck.Done;
        });

        await inner.Ended.Bounded();
    }

    [Test, LinuxOnly("Threads are counted by name in /proc.")]
    public async Task Look_OfAll_RunsOnTheOneThreadOfTheWatchdog()
    {
        Watched[] all = [.. Enumerable.Range(0, 5).Select(_ => new Watched(looks: 2))];
        Array.ForEach(all, watched => Watchdog.Watch(watched.Look));

        await Task.WhenAll(all.Select(watched => watched.Ended)).Bounded();

        Assert.That(all.Select(watched => watched.ThreadName), Is.All.EqualTo(ThreadName));
        Assert.That(ProcessResources.CountThreads(ThreadName), Is.EqualTo(1));
    }

    // The watchdog calls all checks in each period: after several calls of this one, others would have been called too.
    private static Task SeveralPeriodsAsync()
    {
        var watched = new Watched(looks: 4);
        Watchdog.Watch(watched.Look);
        return watched.Ended.Bounded();
    }

    private sealed class Watched(int looks)
    {
        private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public int Count { get; private set; }

        public string? ThreadName { get; private set; }

        public Task Ended => _ended.Task;

        public WatchdogCheck Look()
        {
            Count++;
            ThreadName = Thread.CurrentThread.Name;
            if (Count < looks)
            {
                return Count % 2 == 0 ? WatchdogCheck.Soon : WatchdogCheck.Later;
            }

            _ended.TrySetResult();
            return WatchdogCheck.Done;
        }
    }
}
