using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>The work of a blocked thread: its order, its context, its limit, and its way to the thread pool.</summary>
internal sealed class BlockedThreadQueueTests
{
    private readonly BlockedThreadQueue _queue = new();
    private readonly object _owner = new();
    private readonly List<string> _ran = [];

    [OneTimeSetUp]
    public static void KeepCleanContext() => TestThread.Start("clean", AmbientContext.CaptureClean).Join();

    [Test]
    public void RunOne_AgainAndAgain_RunsAllInOrder_AlsoWhatComesMeanwhile()
    {
        Assert.That(Add("a", () => Add("c")), Is.True);
        Assert.That(Add("b"), Is.True);

        RunAll();

        Assert.That(_queue.HasAny, Is.False);
        Assert.That(_ran, Is.EqualTo(new[] { "a", "b", "c" }));
    }

    [Test]
    public void RunOne_OfAnItemThatThrows_ReportsIt()
    {
        var failed = new List<Exception>();
        var failure = new InvalidOperationException();
        Add("a", () => throw failure);

        _queue.RunOne(failed.Add);

        Assert.That(failed, Is.EqualTo(new[] { failure }));
    }

    [Test]
    public void RunOne_OnAThreadThatSuppressesTheFlow_KeepsItsContexts()
    {
        var local = new AsyncLocal<string> { Value = "own" };
        var own = new SynchronizationContext();
        string? seen = "unset";
        Add("a", () =>
        {
            seen = local.Value;
            local.Value = "of the item";
        });
        SynchronizationContext? before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(own);
        using (ExecutionContext.SuppressFlow())
        {
            RunAll();
            Assert.That(ExecutionContext.IsFlowSuppressed(), Is.True);
        }

        Assert.That(SynchronizationContext.Current, Is.SameAs(own));
        SynchronizationContext.SetSynchronizationContext(before);
        Assert.That((seen, local.Value), Is.EqualTo(((string?)null, "own")));
    }

    [Test]
    public async Task RunOne_InATaskOfAnotherScheduler_LeavesThatScheduler()
    {
        TaskScheduler? seen = null;
        Add("a", () => seen = TaskScheduler.Current);

        await Task.Factory.StartNew(
            RunAll,
            CancellationToken.None,
            TaskCreationOptions.None,
            new ConcurrentExclusiveSchedulerPair().ExclusiveScheduler).Bounded();

        Assert.That(seen, Is.SameAs(TaskScheduler.Default));
    }

    // All are added before the first one runs, so the limit must hold for those that are taken too.
    [Test]
    public async Task Items_ThatRunInsideOfEachOther_AreFew_AndTheOthersGoToThePool()
    {
        const int Items = 100;
        int depth = 0;
        int deepest = 0;
        using var all = new CountdownEvent(Items);
        using var mayReturn = new ManualResetEventSlim();
        var me = Thread.CurrentThread;
        void Nest()
        {
            if (Thread.CurrentThread == me)
            {
                deepest = Math.Max(deepest, ++depth);
                while (_queue.HasAny)
                {
                    _queue.RunOne(exception => throw exception);
                }

                // The deepest one waits for the others, which this thread does not take any more.
                all.Signal();
                if (depth == deepest)
                {
                    mayReturn.Wait();
                }

                depth--;
                return;
            }

            all.Signal();
            if (all.CurrentCount <= 16)
            {
                mayReturn.Set();
            }
        }

        for (int i = 0; i < Items; i++)
        {
            _queue.TryAdd(_owner, new Item(Nest));
        }

        RunAll();

        await Timeouts.Eventually(() => all.IsSet);
        Assert.That(deepest, Is.EqualTo(16));
        Assert.That(Add("later"), Is.True);
    }

    [Test]
    public async Task Item_BehindOneThatWaitsForIt_GoesToThePool()
    {
        using var hasRun = new ManualResetEventSlim();
        bool isOnPool = false;
        Add("a", () => hasRun.Wait(Timeouts.Wait));
        Add("b", () =>
        {
            isOnPool = Thread.CurrentThread.IsThreadPoolThread;
            hasRun.Set();
        });

        await Timeouts.OnThread(() => _queue.RunOne(exception => throw exception)).Bounded();

        Assert.That((hasRun.IsSet, isOnPool), Is.EqualTo((true, true)));
    }

    [Test]
    public async Task MoveToPool_OfACall_LeavesTheWorkOfOthers()
    {
        var thread = new TaskCompletionSource<bool>();
        object other = new();
        var taken = new Item(() => { });
        Add("a", () => thread.SetResult(Thread.CurrentThread.IsThreadPoolThread));
        _queue.TryAdd(other, new Item(() => _ran.Add("of the other")));
        _queue.TryAdd(_owner, taken);

        Assert.That(_queue.TryTakeBack(_owner, taken), Is.True);
        _queue.MoveToPool(_owner);

        Assert.That(await thread.Task.Bounded(), Is.True);
        Assert.That(_queue.TryTakeBack(_owner, taken), Is.False);
        Assert.That(_queue.HasAny, Is.True);
        RunAll();
        Assert.That(_ran, Is.EqualTo(new[] { "a", "of the other" }));
    }

    private bool Add(string name, Action? act = null) => _queue.TryAdd(_owner, new Item(() =>
    {
        _ran.Add(name);
        act?.Invoke();
    }));

    private void RunAll()
    {
        while (_queue.HasAny)
        {
            _queue.RunOne(exception => throw exception);
        }
    }

    private sealed class Item(Action run) : IThreadPoolWorkItem
    {
        public void Execute() => run();
    }
}
