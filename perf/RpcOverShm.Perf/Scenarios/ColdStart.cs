namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Processes that have just started: a server until it listens, then a client until it has its first answer, and its
/// fourth. All are the same program, also the one that does nothing: it starts, finds that it has no orders, and ends.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(10)]
[Category(nameof(ColdStart))]
public sealed class ColdStart
{
    private const string Nothing = "nothing";
    private const int Calls = 4;
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(30);

    private static readonly string[] s_stages =
        ["server, start to listening", "client, start to first answer", "client, start to fourth answer"];

    private static readonly string[] s_columns =
        ["", "ms", "of nothing's", "low", "high", "of grpc-dotnet's", "low", "high", "methods compiled"];

    [Test]
    public async Task Call_FreshProcesses_IsAnswered()
    {
        PerfRun run = PerfRun.Current;
        await run.LearnFactsAsync();
        PerfRun.Say($"{nameof(ColdStart)}: {run.Settings.Rounds} rounds.");
        List<double> nothing = [];
        var starts = FreshProgram.All.ToDictionary(program => program, _ => new List<Start>());
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        try
        {
            await MeasureAsync(nothing, starts, folder.FullName, run.Settings);
        }
        finally
        {
            folder.Delete(recursive: true);
        }

        run.Add(new ReportTable(
            nameof(ColdStart),
            $"Medians of {run.Settings.Rounds} fresh processes each, and ratios within the rounds with their "
            + "intervals. One program for all, which takes its orders from standard input; nothing's time is from its "
            + "start until it has ended. A client calls a server that has just started too, by blocking calls of "
            + "100 B. What the system keeps of files is warm. The methods are those that the server has compiled since "
            + "its start, and the client since it made its channel: of the program and of all libraries."
            + FreshProgram.Missing,
            s_columns,
            [[$"{Nothing}, start to end", .. Row(nothing, null, null), ""], .. Rows()]));
        if (PeerProcess.HasReadyToRun)
        {
            run.Report([.. Bars(nothing, starts)]);
        }

        IEnumerable<string[]> Rows() =>
            from stage in Enumerable.Range(0, s_stages.Length)
            from program in FreshProgram.All
            let compiled = starts[program].Select(start => start.Compiled[stage])
            select (string[])
            [
                $"{program.Label}: {s_stages[stage]}",
                .. Row(Stage(starts, program, stage), nothing, Stage(starts, FreshProgram.Rival, stage)),
                Format.Number(Ratio.MedianOf(compiled)),
            ];
    }

    private static List<double> Stage(
        Dictionary<FreshProgram, List<Start>> starts, FreshProgram program, int stage) =>
        [.. starts[program].Select(start => start.Milliseconds[stage])];

    private static IEnumerable<ReportBar> Bars(
        List<double> nothing, Dictionary<FreshProgram, List<Start>> starts)
    {
        int last = s_stages.Length - 1;
        List<double> ours = Stage(starts, FreshProgram.ReadyToRun, last);
        var toRival = Ratio.Of(ours, Stage(starts, FreshProgram.Rival, last));
        double compiled = Ratio.MedianOf(starts[FreshProgram.ReadyToRun].Select(start => start.Compiled[last]));
        yield return AtMost("times grpc-dotnet's", toRival, 0.45, "times");
        yield return AtMost("times a program that does nothing", Ratio.Of(ours, nothing), 3, "times");
        yield return AtMost("methods compiled", Ratio.Single(compiled), 300, "methods");

        static ReportBar AtMost(string figure, Ratio found, double limit, string unit) => ReportBar.Of(
            $"ReadyToRun, {s_stages[^1]}, {figure}", nameof(ColdStart), found, limit, limit, isUpper: true, unit);
    }

    private static async Task MeasureAsync(
        List<double> nothing, Dictionary<FreshProgram, List<Start>> starts, string folder, PerfSettings settings)
    {
        var order = new Random(settings.Seed);
        FreshProgram?[] shuffled = [null, .. FreshProgram.All];

        // The first round only brings the files into memory.
        for (int round = 0; round <= settings.Rounds; round++)
        {
            order.Shuffle(shuffled);
            foreach (FreshProgram? program in shuffled)
            {
                if (program is null)
                {
                    nothing.Add(await MeasureNothingAsync());
                }
                else
                {
                    starts[program].Add(
                        await MeasureAsync(program, Path.Combine(folder, $"{program.Label}.{round}")));
                }
            }
        }

        nothing.RemoveAt(0);
        starts.Values.ToList().ForEach(list => list.RemoveAt(0));
    }

    private static async Task<double> MeasureNothingAsync()
    {
        long start = Stopwatch.GetTimestamp();
        await using (await PeerProcess.StartAsync(Nothing))
        {
            // It ends when its orders do.
        }

        return Milliseconds(start, Stopwatch.GetTimestamp());
    }

    // A monotonic clock that all processes of the machine share.
    private static async Task<Start> MeasureAsync(FreshProgram program, string place)
    {
        long start = Stopwatch.GetTimestamp();
        (PeerProcess server, string served) = await program.StartServerAsync(place, s_deadline);
        await using PeerProcess _ = server;
        double listening = Milliseconds(start, Stopwatch.GetTimestamp());
        double compiledByServer = await CompiledAsync(server);

        start = Stopwatch.GetTimestamp();
        await using PeerProcess client = await program.StartClientAsync();
        LineReader answer = await client.AskAsync(
            new LineWriter(PeerVerbs.Call).Add(program.Arm).Add(served).Add(Calls), s_deadline);
        (double Milliseconds, double Compiled)[] calls =
        [
            .. Enumerable.Range(0, Calls).Select(_ => (Milliseconds(start, answer.NextNumber()), answer.NextNumber())),
        ];
        return new Start(
            [listening, calls[0].Milliseconds, calls[^1].Milliseconds],
            [compiledByServer, calls[0].Compiled, calls[^1].Compiled]);
    }

    private static async Task<double> CompiledAsync(PeerProcess peer) => PeerSample.Read(
        await peer.AskAsync(new LineWriter(PeerVerbs.Sample), s_deadline)).Used.CompiledMethods;

    private static IEnumerable<string> Row(List<double> times, List<double>? nothing, List<double>? rival) =>
        [Format.Number(Ratio.MedianOf(times)), .. Compared(times, nothing), .. Compared(times, rival)];

    private static IEnumerable<string> Compared(List<double> times, List<double>? others)
    {
        Ratio? ratio = others is null ? null : Ratio.Of(times, others);
        return ratio is null
            ? ["", "", ""]
            : [Format.Number(ratio.Median), Format.Number(ratio.Low), Format.Number(ratio.High)];
    }

    private static double Milliseconds(long from, long to) => Stopwatch.GetElapsedTime(from, to).TotalMilliseconds;

    /// <summary>The stages of one start of both processes.</summary>
    private sealed record Start(double[] Milliseconds, double[] Compiled);
}
