namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Tasks of a client's thread pool that block in calls: the pool has to learn of it and to add threads, or all other
/// work of the program waits. Each start is a fresh client, because a pool keeps the threads that it has added.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(17)]
[Category(nameof(PoolBlocking))]
public sealed class PoolBlocking
{
    private const string Product = "shm-protobuf";
    private const string CallingBack = "shm-callback";
    private const string Rival = "grpc-dotnet-uds";
    private const int CallMilliseconds = 300;
    private const int UsualStarts = 3; // of each form
    private const double MostTimesLater = 1.5;
    private const double MostMillisecondsLater = 100;
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(60);

    private static readonly Form[] s_usualForms =
    [
        new("8 tasks", 8, Product),
        new("17 tasks", 17, Product),
        new("17 tasks, a callback in each call", 17, CallingBack),
        new("17 tasks, server in the same process", 17, Product, IsOneProcess: true),
    ];

    // It takes eight seconds of grpc-dotnet.
    private static readonly Form s_longForm = new("40 tasks", 40, Product);

    private static readonly string[] s_columns =
    [
        "", "item latest after ms", "grpc-dotnet", "all calls after ms", "grpc-dotnet", "later than grpc-dotnet, ms",
        "low", "high",
    ];

    [Test]
    public async Task OtherWork_BesideBlockingCalls_FindsAThread()
    {
        PerfRun run = PerfRun.Current;
        await run.LearnFactsAsync();
        int starts = PerfSettings.IsFull ? run.Settings.Rounds : UsualStarts;
        Form[] forms = PerfSettings.IsFull ? [.. s_usualForms, s_longForm] : s_usualForms;
        PerfRun.Say($"{nameof(PoolBlocking)}: {starts} starts of {forms.Length} forms.");
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        var found = forms.ToDictionary(form => form, _ => new List<(double[] Ours, double[] Theirs)>());
        try
        {
            for (int round = 0; round < starts; round++)
            {
                foreach (Form form in forms)
                {
                    string place = Path.Combine(folder.FullName, $"{Array.IndexOf(forms, form)}.{round}");
                    bool isOursFirst = round % 2 == 0;
                    double[] first = await MeasureAsync(form, isOursFirst ? form.Arm : Rival, place);
                    double[] second = await MeasureAsync(form, isOursFirst ? Rival : form.Arm, place + "b");
                    found[form].Add(isOursFirst ? (first, second) : (second, first));
                }
            }
        }
        finally
        {
            folder.Delete(recursive: true);
        }

        run.Add(new ReportTable(
            nameof(PoolBlocking),
            $"Medians of {starts} fresh clients each. The tasks of the pool make one blocking call of "
            + $"{CallMilliseconds} ms each; beside them an empty work item is queued to the pool every 5 ms. The times "
            + "are the longest that one of these items waited, and the time until all calls were answered.",
            s_columns,
            [.. forms.Select(form => Row(form, found[form]))]));
        run.Report([.. forms.Select(form => MakeBar(form, found[form]))]);
    }

    // As late as grpc-dotnet, with some room: a pool adds a thread when it likes.
    private static ReportBar MakeBar(Form form, List<(double[] Ours, double[] Theirs)> starts)
    {
        double[] ours = [.. starts.Select(start => start.Ours[0])];
        double[] theirs = [.. starts.Select(start => start.Theirs[0])];
        double limit = Math.Max(
            MostTimesLater * Ratio.MedianOf(theirs), Ratio.MedianOf(theirs) + MostMillisecondsLater);
        var of = Ratio.Of(ours, [.. ours.Select(_ => 1.0)]);
        return ReportBar.Of(
            $"other work of a pool, {form.Name}, latest", form.Name, of, limit, limit, isUpper: true, "ms");
    }

    private static string[] Row(Form form, List<(double[] Ours, double[] Theirs)> starts)
    {
        double[] later = [.. starts.Select(start => start.Ours[0] - start.Theirs[0])];
        var ratio = Ratio.Of(later, [.. later.Select(_ => 1.0)]);
        double[] figures =
        [
            Ratio.MedianOf(starts.Select(start => start.Ours[0])),
            Ratio.MedianOf(starts.Select(start => start.Theirs[0])),
            Ratio.MedianOf(starts.Select(start => start.Ours[1])),
            Ratio.MedianOf(starts.Select(start => start.Theirs[1])),
            ratio.Median, ratio.Low, ratio.High,
        ];
        string[] row = [form.Name, .. figures.Select(Format.Number)];
        PerfRun.Say(string.Join("  ", row));
        return row;
    }

    private static async Task<double[]> MeasureAsync(Form form, string arm, string place)
    {
        (PeerProcess server, string served) = await PeerProcess.StartServerAsync(arm, place, s_deadline);
        await using PeerProcess _ = server;
        LineWriter block =
            new LineWriter(PeerVerbs.Block).Add(arm).Add(served).Add(form.Tasks).Add(CallMilliseconds);
        if (form.IsOneProcess)
        {
            return Read(await server.AskAsync(block, s_deadline));
        }

        await using PeerProcess client = await PeerProcess.StartAsync($"client of {arm}");
        return Read(await client.AskAsync(block, s_deadline));
    }

    private static double[] Read(LineReader answer) =>
    [
        Stopwatch.GetElapsedTime(0, answer.NextNumber()).TotalMilliseconds,
        Stopwatch.GetElapsedTime(0, answer.NextNumber()).TotalMilliseconds,
    ];

    private sealed record Form(string Name, int Tasks, string Arm, bool IsOneProcess = false);
}
