using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>The work of a blocked thread: its order, its context, its limit, and its way to the thread pool.</summary>
internal sealed class BlockedThreadQueueTests
{
    private readonly BlockedThreadQueue _queue = new();
    private readonly List<string> _ran = [];

    [OneTimeSetUp]
    public static void KeepCleanContext() => TestThread.Start("clean", AmbientContext.CaptureClean).Join();

    [Test]
    public void RunAll_OfSomeItems_RunsThemInOrder_AlsoThoseThatComeMeanwhile()
    {
        Assert.That(_queue.TryAdd(Item("a", () => _queue.TryAdd(Item("c")))), Is.True);
        Assert.That(_queue.TryAdd(Item("b")), Is.True);
        bool hadAny = _queue.HasAny;

        _queue.RunAll(exception => throw exception);

        Assert.That(hadAny, Is.True);
        Assert.That(_queue.HasAny, Is.False);
        Assert.That(_ran, Is.EqualTo(new[] { "a", "b", "c" }));
    }

    [Test]
    public void RunAll_OfAnItemThatThrows_ReportsItAndGoesOn()
    {
        var failed = new List<Exception>();
        var failure = new InvalidOperationException();
        _queue.TryAdd(Item("a", () => throw failure));
        _queue.TryAdd(Item("b"));

        _queue.RunAll(failed.Add);

        Assert.That(failed, Is.EqualTo(new[] { failure }));
        Assert.That(_ran, Is.EqualTo(new[] { "a", "b" }));
    }

    [Test]
    public void RunAll_OnAThreadThatSuppressesTheFlow_KeepsItsContexts()
    {
        var local = new AsyncLocal<string> { Value = "own" };
        var own = new SynchronizationContext();
        string? seen = "unset";
        _queue.TryAdd(Item("a", () =>
        {
            seen = local.Value;
            local.Value = "of the item";
        }));
        SynchronizationContext? before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(own);
        using (ExecutionContext.SuppressFlow())
        {
            _queue.RunAll(exception => throw exception);
            Assert.That(ExecutionContext.IsFlowSuppressed(), Is.True);
        }

        Assert.That(SynchronizationContext.Current, Is.SameAs(own));
        SynchronizationContext.SetSynchronizationContext(before);
        Assert.That((seen, local.Value), Is.EqualTo(((string?)null, "own")));
    }

    [Test]
    public void TryAdd_ToAThreadInManyItems_IsRefused_UntilItReturns()
    {
        int depth = 0;
        bool isTaken = true;
        void Deeper()
        {
            if (isTaken)
            {
                depth++;
                isTaken = _queue.TryAdd(Item("deeper", Deeper));
                _queue.RunAll(exception => throw exception);
            }
        }

        _queue.TryAdd(Item("first", Deeper));
        _queue.RunAll(exception => throw exception);

        Assert.That(depth, Is.EqualTo(16));
        Assert.That(_queue.TryAdd(Item("later")), Is.True);
    }

    [Test]
    public async Task MoveToPool_OfWhatIsLeft_RunsItThere()
    {
        var thread = new TaskCompletionSource<bool>();
        RecordedItem taken = Item("taken back");
        _queue.TryAdd(Item("a", () => thread.SetResult(Thread.CurrentThread.IsThreadPoolThread)));
        _queue.TryAdd(taken);

        Assert.That(_queue.TryTakeBack(taken), Is.True);
        Assert.That(_queue.HasAny, Is.True);
        _queue.MoveToPool();

        Assert.That(await thread.Task.Bounded(), Is.True);
        Assert.That(_queue.TryTakeBack(taken), Is.False);
        Assert.That(_ran, Is.EqualTo(new[] { "a" }));
    }

    private RecordedItem Item(string name, Action? act = null) => new(() =>
    {
        _ran.Add(name);
        act?.Invoke();
    });

    private sealed class RecordedItem(Action run) : IThreadPoolWorkItem
    {
        public void Execute() => run();
    }
}
