namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Many awaited calls that are started at once, of a method that works: answers must not wait for the calls behind
/// them. Each arm has its own pair of processes, and all take turns.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(13)]
[Category(nameof(Backlog))]
public sealed class Backlog
{
    private const string Product = "shm-protobuf";
    private const string Pool = "shm-protobuf-pool";
    private const string Rival = "grpc-dotnet-uds";
    private const int SizeBytes = 100;
    private const int Calls = 10_000;
    private const int WorkMicroseconds = 30;
    private const int Rounds = 10;
    private const int WarmUps = 3;
    private const double MostFirstMs = 1;
    private const double WorstFirstMs = 10;

    private static readonly string[] s_arms = [Product, Pool, Rival];

    private static readonly string[] s_columns =
    [
        "", "first ms, median", "first ms, worst", "last ms, median", "last ms, worst", "last, of grpc-dotnet's", "low",
        "high", "CPU µs per call",
    ];

    private static readonly LoadOrder s_order =
        new(LoadShape.Backlog, CallerKind.Async, SizeBytes) { Calls = Calls, WorkMicroseconds = WorkMicroseconds };

    [Test]
    public async Task Answers_OfManyCallsAtOnce_ComeAsTheyAreReady()
    {
        PerfRun run = PerfRun.Current;
        PerfRun.Say($"{nameof(Backlog)}: {Rounds} rounds of {Calls} calls.");
        ArmPair[] pairs = [.. s_arms.Select(arm => run.Fleet.MakePair(arm, arm))];
        try
        {
            foreach (ArmPair pair in pairs)
            {
                await pair.StartAsync();
            }

            await run.LearnFactsAsync(pairs[0]);
            Dictionary<string, List<SliceResult>> found = await Turn.TakeAllAsync(
                pairs.Select(pair => new Turn(pair.Label, pair, s_order)), run.Settings, Rounds, WarmUps);
            run.Add(new ReportTable(nameof(Backlog), Explain(), s_columns, [.. s_arms.Select(arm => Row(found, arm))]));
            double[] first = [.. found[Product].Select(FirstMs)];
            run.Report(
            [
                MakeBar("first answer of a backlog, median", Ratio.MedianOf(first), MostFirstMs),
                MakeBar($"first answer of a backlog, worst of {Rounds}", first.Max(), WorstFirstMs),
            ]);
        }
        finally
        {
            foreach (ArmPair pair in pairs)
            {
                await pair.DisposeAsync();
            }
        }
    }

    private static string[] Row(Dictionary<string, List<SliceResult>> found, string arm)
    {
        double[] first = [.. found[arm].Select(FirstMs)];
        double[] last = [.. found[arm].Select(LastMs)];
        var ratio = Ratio.Of(last, [.. found[Rival].Select(LastMs)]);
        double cpu = found[arm].Average(slice => slice.Client.Used.CpuMicroseconds + slice.Server.Used.CpuMicroseconds);
        double[] figures =
        [
            Ratio.MedianOf(first), first.Max(), Ratio.MedianOf(last), last.Max(),
            ratio.Median, ratio.Low, ratio.High, cpu / Calls,
        ];
        string[] row = [arm, .. figures.Select(Format.Number)];
        PerfRun.Say(string.Join("  ", row));
        return row;
    }

    // The worst is one value, and the median of so few values needs no interval to be read.
    private static ReportBar MakeBar(string figure, double value, double limit) =>
        ReportBar.Of(figure, $"{Calls} calls", Ratio.Single(value), limit, limit, isUpper: true, "ms");

    private static string Explain() =>
        $"{Rounds} rounds of {Calls} awaited calls of {SizeBytes} B that one thread starts without waiting, of a "
        + $"method that takes {WorkMicroseconds} µs of processor time. The times are from the first start "
        + "until the first and the last answer has reached its caller. The arms: the product with default options, the "
        + "product with all methods and continuations on the thread pool, grpc-dotnet over a Unix socket.";

    private static double FirstMs(SliceResult slice) => Milliseconds(slice.Client.FirstAnswerTicks);

    private static double LastMs(SliceResult slice) => Milliseconds(slice.Client.ElapsedTicks);

    private static double Milliseconds(long ticks) => ticks * 1000.0 / Stopwatch.Frequency;
}
