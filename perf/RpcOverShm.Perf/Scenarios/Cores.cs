namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Callers of one channel, from one to as many as there are processors: how many calls all of them make together. Each
/// arm has its own pair of processes, and all take turns with each number of callers.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(16)]
[Category(nameof(Cores))]
public sealed class Cores
{
    private const string Product = "shm-protobuf";
    private const string Rival = "grpc-dotnet-uds";
    private const string Socket = "uds";
    private const int SizeBytes = 100;
    private const int WorkMicroseconds = 40;
    private const int WarmUps = 8;
    private const int Sharers = 8;
    private const int SharersWarmUps = 20; // threads that hand the reading to each other need more calls than tables do

    private static readonly string[] s_arms = [Product, Socket, Rival];

    private static readonly string[] s_columns =
    [
        "", "caller", "callers", "k/s", "times one caller", "low", "high", "times grpc-dotnet", "low", "high",
        "CPU µs per call",
    ];

    /// <summary>1, 2, 4 and so on, and the number of processors.</summary>
    private static int[] Counts { get; } =
    [
        .. Enumerable.Range(0, 16).Select(power => 1 << power).Where(count => count < Environment.ProcessorCount),
        Environment.ProcessorCount,
    ];

    [TestCase(0)]
    [TestCase(WorkMicroseconds)]
    public async Task Callers_AsManyAsProcessors_AddUp(int workMicroseconds)
    {
        PerfRun run = PerfRun.Current;
        PerfRun.Say($"{nameof(Cores)}: {Describe(workMicroseconds)}.");
        await using var fleet = new Fleet([]);
        ArmPair[] pairs = [.. s_arms.Select(arm => fleet.MakePair(arm, arm))];
        try
        {
            await Task.WhenAll(pairs.Select(pair => pair.StartAsync()));
            await run.LearnFactsAsync(pairs[0]);
            CallerKind[] kinds = Enum.GetValues<CallerKind>();
            IEnumerable<Turn> turns =
                from pair in pairs
                from kind in kinds
                from count in Counts
                select new Turn(Label(pair.Arm.Name, kind, count), pair, Order(kind, count, workMicroseconds));
            Dictionary<string, List<SliceResult>> found =
                await Turn.TakeAllAsync(turns, run.Settings, run.Settings.Rounds, WarmUps);
            IEnumerable<string[]> rows =
                from kind in kinds
                from arm in s_arms
                from count in Counts
                select Row(found, arm, kind, count);
            run.Add(new ReportTable(
                $"{nameof(Cores)}, {Describe(workMicroseconds)}", Explain(), s_columns, [.. rows]));
            if (workMicroseconds > 0)
            {
                run.Report([.. kinds.Select(kind => MakeBar(found, kind))]);
            }
        }
        finally
        {
            foreach (ArmPair pair in pairs)
            {
                await pair.DisposeAsync();
            }
        }
    }

    /// <summary>Threads that block on one connection hand the reading to each other, which costs calls.</summary>
    [Test]
    public async Task BlockingCallers_OfOneConnection_KeepTheCallsOfOne()
    {
        PerfRun run = PerfRun.Current;
        PerfRun.Say($"{nameof(Cores)}: {Sharers} blocking callers of one connection.");
        await using ArmPair pair = run.Fleet.MakePair("sharers", Product);
        await pair.StartAsync();
        await run.LearnFactsAsync(pair);
        IEnumerable<Turn> turns =
            from callers in (int[])[1, Sharers]
            select new Turn(Label(Product, CallerKind.Blocking, callers), pair, SharersOrder(callers));
        Dictionary<string, List<SliceResult>> found =
            await Turn.TakeAllAsync(turns, run.Settings, run.Settings.Rounds, SharersWarmUps);
        Ratio ratio = TimesMore(
            found, Label(Product, CallerKind.Blocking, Sharers), Label(Product, CallerKind.Blocking, 1));
        string figure = $"{Sharers} blocking callers of one connection, calls a second, of one alone";
        run.Report([ReportBar.Of(figure, nameof(Cores), ratio, limit: 0.6, aim: 1)]);
    }

    private static LoadOrder SharersOrder(int callers)
    {
        TimeSpan slice = PerfRun.Current.Settings.Slice * 2;
        return new LoadOrder(LoadShape.Echo, CallerKind.Blocking, SizeBytes)
        {
            Callers = callers,
            LeadIn = slice / 2,
            Duration = slice,
        };
    }

    private static LoadOrder Order(CallerKind kind, int callers, int workMicroseconds)
    {
        TimeSpan slice = PerfRun.Current.Settings.Slice / 2; // many rows, and no finer bar
        return new LoadOrder(LoadShape.Echo, kind, SizeBytes)
        {
            Callers = callers,
            WorkMicroseconds = workMicroseconds,
            LeadIn = slice * PerfSettings.LeadInShare,
            Duration = slice,
        };
    }

    private static string[] Row(
        Dictionary<string, List<SliceResult>> found, string arm, CallerKind kind, int callers)
    {
        string label = Label(arm, kind, callers);
        Ratio own = TimesMore(found, label, Label(arm, kind, 1));
        Ratio rival = TimesMore(found, label, Label(Rival, kind, callers));
        double[] figures =
        [
            callers, 1000 / Ratio.MedianOf(TimesOf(found[label])),
            own.Median, own.Low, own.High, rival.Median, rival.Low, rival.High,
            found[label].Average(slice => RoundFigures.Of(slice).CpuUs),
        ];
        string[] row = [arm, kind == CallerKind.Async ? "async" : "blocking", .. figures.Select(Format.Number)];
        PerfRun.Say(string.Join("  ", row));
        return row;
    }

    private static ReportBar MakeBar(Dictionary<string, List<SliceResult>> found, CallerKind kind)
    {
        int most = Counts[^1];
        string callers = kind == CallerKind.Async ? "awaiting callers" : "blocking callers";
        return ReportBar.Of(
            $"As many {callers} as processors, methods of {WorkMicroseconds} µs, times {Rival}",
            nameof(Cores),
            TimesMore(found, Label(Product, kind, most), Label(Rival, kind, most)),
            limit: 1,
            aim: 2);
    }

    /// <summary>The ratio of calls a second, within the rounds.</summary>
    private static Ratio TimesMore(Dictionary<string, List<SliceResult>> found, string label, string other) =>
        Ratio.Of(TimesOf(found[other]), TimesOf(found[label]));

    private static double[] TimesOf(List<SliceResult> slices) =>
        [.. slices.Select(slice => RoundFigures.Of(slice).PerMessageUs)];

    private static string Label(string arm, CallerKind kind, int callers) => $"{arm}, {kind}, {callers}";

    private static string Describe(int workMicroseconds) =>
        workMicroseconds == 0 ? "short methods" : $"methods of {workMicroseconds} µs";

    private static string Explain()
    {
        string few = Environment.ProcessorCount > 2
            ? ""
            : " With no more than two processors, client and server share them: the table shows whether two callers "
                + "keep both busy, and not how the calls grow with further processors.";
        return $"Calls of {SizeBytes} B, over one channel or with a socket for each caller, by as many callers at a "
            + $"time as the row says. This machine has {Environment.ProcessorCount} processors. A method of "
            + $"{WorkMicroseconds} µs takes that much of its thread's processor time. The ratios compare calls a "
            + "second within the same rounds." + few;
    }
}
