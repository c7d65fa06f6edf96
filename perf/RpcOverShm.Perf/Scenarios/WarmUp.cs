namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Processes that have just started and are busy at once: the calls that they answer before their compilers have
/// settled.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(10)]
[Category(nameof(WarmUp))]
public sealed class WarmUp
{
    private const int Callers = 64;
    private const int MessageBytes = 100;
    private const int UsualStarts = 5;
    private static readonly TimeSpan s_loaded = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(30);

    private static readonly LoadOrder s_load = new(LoadShape.Echo, CallerKind.Async, MessageBytes)
    {
        Callers = Callers,
        Duration = s_loaded,
    };

    private static readonly string[] s_columns =
    [
        "", "answers", "of grpc-dotnet's", "low", "high", "methods compiled, client", "server",
        "answers in 0.2 s afterwards",
    ];

    [Test]
    public async Task Calls_OfFreshProcesses_AreAnswered()
    {
        PerfRun run = PerfRun.Current;
        await run.LearnFactsAsync();
        int starts = PerfSettings.IsFull ? run.Settings.Rounds : UsualStarts;
        PerfRun.Say($"{nameof(WarmUp)}: {starts} starts.");
        IReadOnlyList<FreshProgram> programs = FreshProgram.All;
        var found = programs.ToDictionary(program => program, _ => new List<Start>());
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        try
        {
            for (int round = 0; round < starts; round++)
            {
                foreach (FreshProgram program in round % 2 == 0 ? programs : programs.Reverse())
                {
                    string place = Path.Combine(folder.FullName, $"{program.Label}.{round}");
                    found[program].Add(await MeasureAsync(program, place));
                }
            }
        }
        finally
        {
            folder.Delete(recursive: true);
        }

        run.Add(new ReportTable(
            nameof(WarmUp),
            $"Medians of {starts} fresh servers and clients each. {Callers} awaiting callers of {MessageBytes} B begin "
            + $"as soon as the client has started; the answers of their first {s_loaded.TotalSeconds:0} s are counted, "
            + "connecting included, and the methods that both processes compile from their start on."
            + FreshProgram.Missing,
            s_columns,
            [.. programs.Select(program => Row(program.Label, found[program], found[FreshProgram.Rival]))]));
        if (PeerProcess.HasReadyToRun)
        {
            Ratio times = Compare(found[FreshProgram.ReadyToRun], found[FreshProgram.Product]);
            run.Report([ReportBar.Of("answers with ReadyToRun, times those without", nameof(WarmUp), times, 2, 2)]);
        }
    }

    private static async Task<Start> MeasureAsync(FreshProgram program, string place)
    {
        (PeerProcess server, string served) = await program.StartServerAsync(place, s_deadline);
        await using PeerProcess _ = server;
        await using PeerProcess client = await program.StartClientAsync();
        await client.AskAsync(new LineWriter(PeerVerbs.Connect).Add(program.Arm).Add(served), s_deadline);
        LoadResult result = await RunAsync(client, s_load);
        PeerSample byClient = await SampleAsync(client);
        PeerSample byServer = await SampleAsync(server);
        LoadResult later = await RunAsync(client, s_load with { Duration = s_loaded / 10 });
        PeerSample atEnd = await SampleAsync(server);
        var all = new SliceResult(result, byServer) { First = result };
        var last = new SliceResult(later, atEnd - byServer) { First = later };
        Assert.That((all.Problem(), last.Problem()), Is.EqualTo(((string?)null, (string?)null)));
        return new Start(
            result.Measured, byClient.Used.CompiledMethods, byServer.Used.CompiledMethods, later.Measured);
    }

    private static async Task<LoadResult> RunAsync(PeerProcess client, LoadOrder order)
    {
        var request = new LineWriter(PeerVerbs.Run);
        order.Write(request);
        return LoadResult.Read(await client.AskAsync(request, s_deadline));
    }

    private static async Task<PeerSample> SampleAsync(PeerProcess peer) =>
        PeerSample.Read(await peer.AskAsync(new LineWriter(PeerVerbs.Sample), s_deadline));

    private static Ratio Compare(List<Start> starts, List<Start> others) => Ratio.Of(
        [.. starts.Select(start => (double)start.Answers)], [.. others.Select(start => (double)start.Answers)]);

    private static string[] Row(string program, List<Start> starts, List<Start> rivals)
    {
        Ratio ratio = Compare(starts, rivals);
        double[] figures =
        [
            Ratio.MedianOf(starts.Select(start => (double)start.Answers)), ratio.Median, ratio.Low, ratio.High,
            Ratio.MedianOf(starts.Select(start => (double)start.ClientMethods)),
            Ratio.MedianOf(starts.Select(start => (double)start.ServerMethods)),
            Ratio.MedianOf(starts.Select(start => (double)start.AnswersLater)),
        ];
        string[] row = [program, .. figures.Select(Format.Number)];
        PerfRun.Say(string.Join("  ", row));
        return row;
    }

    private sealed record Start(long Answers, long ClientMethods, long ServerMethods, long AnswersLater);
}
