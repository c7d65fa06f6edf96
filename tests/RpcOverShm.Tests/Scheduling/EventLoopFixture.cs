using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>An event loop with sources that the test drives; no rings and no peers.</summary>
public abstract class EventLoopFixture
{
    protected const int WaitMilliseconds = 20_000;

    private readonly List<FakeSource> _sources = [];

    private protected EventLoop Loop { get; } = new();

    [TearDown]
    public void RemoveAll()
    {
        _sources.ForEach(source => source.RemoveFrom(Loop));
        Eventually(() => _sources.TrueForAll(source => source.Entered == source.Left), "The loop keeps no source.");
        Assert.That(_sources.Select(source => source.WasRunTwiceAtOnce), Has.None.True);
        _sources.ForEach(source => source.Dispose());
        _sources.Clear();
    }

    protected static int Threads(string name) => ProcessResources.CountThreads(name);

    protected static void Eventually(Func<bool> condition, string? message = null) =>
        Assert.That(condition, Is.True.After(WaitMilliseconds, 1), message ?? "");

    private protected FakeSource Add(FakeSource? source = null)
    {
        source ??= new FakeSource();
        _sources.Add(source);
        source.AddTo(Loop);
        return source;
    }

    protected void SleepsWithoutActive() =>
        Eventually(() => !Loop.IsAwake && _sources.TrueForAll(source => !source.IsActive));
}
