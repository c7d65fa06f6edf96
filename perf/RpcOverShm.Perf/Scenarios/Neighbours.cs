namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Clients of one server that do different things: what the others cost a client that calls all the time. Both runs
/// that are compared take turns.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(15)]
[Category(nameof(Crowd))]
[Category(nameof(Neighbours))]
public sealed class Neighbours
{
    private const string Product = "shm-protobuf";
    private const string Blocking = "shm-raw-blocking";
    private const int SizeBytes = 100;
    private const int Silent = 1000;
    private const int Others = 99;
    private const int OtherThreads = 4;
    private const int WarmUps = 6;

    // The percentile of a slice needs thousands of calls.
    private const int SlicesEach = 4;

    private static readonly TimeSpan s_settling = TimeSpan.FromSeconds(8);

    [Test]
    public async Task HotClient_AmongSilentOnes_IsAsFastAsAlone()
    {
        PerfRun.Say($"{nameof(Neighbours)}: one hot client among {Silent} silent connections.");
        PerfRun run = PerfRun.Current;
        await using ArmPair alone = run.Fleet.MakePair("alone", Product);
        await using ArmPair among = run.Fleet.MakePair("among", Product);
        await Task.WhenAll(alone.StartAsync(), among.StartAsync());
        await run.LearnFactsAsync(alone);
        await among.WidenAsync(Silent, callsEach: 1);
        await Task.Delay(s_settling);
        LoadOrder order = Order(run.Settings.Slice);
        Ratio ratio = await CompareAsync(new Turn("among", among, order), new Turn("alone", alone, order), share: 0.5);
        string figure = $"a hot client's time among {Silent} silent, to alone";
        run.Report([ReportBar.Of(figure, nameof(Neighbours), ratio, 1.1, 1.1, isUpper: true)]);
    }

    /// <summary>
    /// The slow client is a process of its own, whose methods block; in each slice they are others, which the server
    /// has never run. The clock starts with its first call.
    /// </summary>
    [Test]
    public async Task SlowClient_OfMethodsThatBlock_DelaysNoOther()
    {
        PerfRun.Say($"{nameof(Neighbours)}: one slow client among {Others} others.");
        PerfRun run = PerfRun.Current;
        await using var fleet = new Fleet([], clients: 2);
        await using ArmPair pair = fleet.MakePair("slow", Blocking);
        await pair.StartAsync();
        await run.LearnFactsAsync(pair);
        await pair.WidenAsync(Others - 1, callsEach: 1, clientsUsed: 1);
        TimeSpan slice = run.Settings.Slice * SlicesEach;
        LoadOrder others = Order(slice) with { Callers = OtherThreads, Connections = Others, LeadIn = TimeSpan.Zero };
        LoadOrder slow = Order(slice) with { Blocks = true, LeadIn = TimeSpan.Zero };
        Ratio ratio = await CompareAsync(
            new Turn("with a slow one", pair, others, slow), new Turn("without", pair, others), share: 0.99);
        string figure = $"p99 of {Others} clients with a slow one, to without";
        run.Report([ReportBar.Of(figure, nameof(Neighbours), ratio, 2, 1.2, isUpper: true)]);
    }

    private static LoadOrder Order(TimeSpan slice) => new(LoadShape.Echo, CallerKind.Blocking, SizeBytes)
    {
        LeadIn = slice * PerfSettings.LeadInShare,
        Duration = slice,
    };

    // The times are those of the first client.
    private static async Task<Ratio> CompareAsync(Turn one, Turn other, double share)
    {
        PerfSettings settings = PerfRun.Current.Settings;
        Dictionary<string, List<SliceResult>> found =
            await Turn.TakeAllAsync([one, other], settings, settings.Rounds, WarmUps);
        double[] times = TimesOf(one);
        double[] others = TimesOf(other);
        PerfRun.Say(Format.Invariant(
            $"{one.Label}: {Ratio.MedianOf(times):0.0} µs; {other.Label}: {Ratio.MedianOf(others):0.0} µs."));
        return Ratio.Of(times, others);

        double[] TimesOf(Turn turn) =>
            [.. found[turn.Label].Select(slice => slice.First.Times.ValueAt(share) * 1e6 / Stopwatch.Frequency)];
    }
}
