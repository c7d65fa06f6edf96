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
    private const string Rival = "grpc-dotnet-uds";
    private const int Calls = 4;
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(30);
    private static readonly string[] s_programs = [Nothing, "shm-protobuf", Rival];

    private static readonly string[] s_stages =
        ["server, start to listening", "client, start to first answer", "client, start to fourth answer"];

    private static readonly string[] s_columns =
        ["", "ms", "of nothing's", "low", "high", "of grpc-dotnet's", "low", "high"];

    [Test]
    public async Task Call_FreshProcesses_IsAnswered()
    {
        PerfRun run = PerfRun.Current;
        await run.LearnFactsAsync();
        PerfRun.Say($"{nameof(ColdStart)}: {run.Settings.Rounds} rounds.");
        var times = s_programs.ToDictionary(program => program, _ => new List<double[]>());
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        try
        {
            await MeasureAsync(times, folder.FullName, run.Settings);
        }
        finally
        {
            folder.Delete(recursive: true);
        }

        run.Add(new ReportTable(
            "ColdStart",
            $"Medians of {run.Settings.Rounds} fresh processes each, and ratios within the rounds with their "
            + "intervals. One program for all, which takes its orders from standard input; nothing's time is from its "
            + "start until it has ended. A client calls a server that has just started too, by blocking calls of "
            + "100 B. What the system keeps of files is warm.",
            s_columns,
            [[$"{Nothing}, start to end", .. Row(Stage(Nothing, 0), null, null)], .. Rows()]));

        double[] Stage(string program, int stage) => [.. times[program].Select(found => found[stage])];

        IEnumerable<string[]> Rows() =>
            from stage in Enumerable.Range(0, s_stages.Length)
            from program in s_programs.Skip(1)
            select (string[])
            [
                $"{program}: {s_stages[stage]}",
                .. Row(Stage(program, stage), Stage(Nothing, 0), Stage(Rival, stage)),
            ];
    }

    private static async Task MeasureAsync(
        Dictionary<string, List<double[]>> times, string folder, PerfSettings settings)
    {
        var order = new Random(settings.Seed);
        string[] shuffled = [.. s_programs];

        // The first round only brings the files into memory.
        for (int round = 0; round <= settings.Rounds; round++)
        {
            order.Shuffle(shuffled);
            foreach (string program in shuffled)
            {
                double[] found = program == Nothing
                    ? [await MeasureNothingAsync()]
                    : await MeasureAsync(program, Path.Combine(folder, $"{program}.{round}"));
                if (round > 0)
                {
                    times[program].Add(found);
                }
            }
        }
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
    private static async Task<double[]> MeasureAsync(string arm, string place)
    {
        long start = Stopwatch.GetTimestamp();
        (PeerProcess server, string served) = await PeerProcess.StartServerAsync(arm, place, s_deadline);
        await using PeerProcess _ = server;
        double listening = Milliseconds(start, Stopwatch.GetTimestamp());

        start = Stopwatch.GetTimestamp();
        await using PeerProcess client = await PeerProcess.StartAsync($"client of {arm}");
        LineReader ticks = await client.AskAsync(
            new LineWriter(PeerVerbs.Call).Add(arm).Add(served).Add(Calls), s_deadline);
        double[] answers = [.. Enumerable.Range(0, Calls).Select(_ => Milliseconds(start, ticks.NextNumber()))];
        return [listening, answers[0], answers[^1]];
    }

    private static IEnumerable<string> Row(double[] times, double[]? nothing, double[]? rival) =>
        [Format.Number(Ratio.MedianOf(times)), .. Compared(times, nothing), .. Compared(times, rival)];

    private static IEnumerable<string> Compared(double[] times, double[]? others)
    {
        Ratio? ratio = others is null ? null : Ratio.Of(times, others);
        return ratio is null
            ? ["", "", ""]
            : [Format.Number(ratio.Median), Format.Number(ratio.Low), Format.Number(ratio.High)];
    }

    private static double Milliseconds(long from, long to) => Stopwatch.GetElapsedTime(from, to).TotalMilliseconds;
}
