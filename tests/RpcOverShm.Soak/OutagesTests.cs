namespace RpcOverShm.Soak;

/// <summary>The times that excuse a call: with them wrong, the soak would miss a failure, or invent one.</summary>
[Category("Soak")]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OutagesTests
{
    private const int Client = 1;
    private const int Server = 2;
    private const int Other = 3;

    private readonly Outages _outages = new();

    [Test]
    public void TimeRunning_LeavesOutStopsOfTheGivenProcesses_AndOverlapsOnce()
    {
        long from = Stopwatch.GetTimestamp();
        Outage first = _outages.Begin(Client, nameof(FaultKind.StopClient));
        Outage second = _outages.Begin(Server, nameof(FaultKind.StarveProcessor));
        _outages.End(first);
        _outages.End(second);
        _outages.End(_outages.Begin(Other, nameof(FaultKind.StopClient)));
        _outages.End(_outages.Begin(Client, nameof(FaultKind.ReopenChannel)));
        Outage last = _outages.Begin(Server, nameof(FaultKind.StopServer));
        long to = Stopwatch.GetTimestamp();

        long stopped = second.End!.Value - first.Start + to - last.Start;
        Assert.That(
            _outages.TimeRunning([Client, Server], from, to), Is.EqualTo(Stopwatch.GetElapsedTime(stopped, to - from)));
        Assert.That(_outages.TimeRunning([Client, Server], last.Start, to), Is.EqualTo(TimeSpan.Zero));
        Assert.That(_outages.TimeRunning([], from, to), Is.EqualTo(Stopwatch.GetElapsedTime(from, to)));
    }

    [Test]
    public void SinceOutage_IsTheTimeAfterTheLastOne()
    {
        Outage over = _outages.Begin(Client, nameof(FaultKind.StarveMemory));
        _outages.End(over);
        long asked = Stopwatch.GetTimestamp();

        TimeSpan since = Stopwatch.GetElapsedTime(over.End!.Value, asked);
        Assert.That(_outages.SinceOutage(Client, asked, asked), Is.EqualTo(since));
        Assert.That(_outages.Explains(Client, asked, asked, since), Is.True);
        Assert.That(_outages.Explains(Client, asked, asked, since - TimeSpan.FromTicks(1)), Is.False);
        Assert.That(_outages.SinceOutage(Other, asked, asked), Is.Null);
        Assert.That(_outages.Explains(Other, asked, asked, TimeSpan.MaxValue), Is.False);
        long muchLater = asked + (120 * Stopwatch.Frequency);
        Assert.That(_outages.SinceOutage(Client, muchLater, muchLater), Is.Null);
    }

    [Test]
    public void SinceOutage_WhileOneLasts_IsZeroForAllThatItConcerns()
    {
        long asked = Stopwatch.GetTimestamp();
        Outage lasting = _outages.Begin(null, nameof(FaultKind.KillServer));

        Assert.That(_outages.SinceOutage(Client, asked, asked - 1), Is.Null, "it ended before");
        Assert.That(_outages.SinceOutage(Client, asked, lasting.Start), Is.EqualTo(TimeSpan.Zero));
        Assert.That(_outages.SinceOutage(Other, lasting.Start + 1, lasting.Start + 2), Is.EqualTo(TimeSpan.Zero));
    }
}
