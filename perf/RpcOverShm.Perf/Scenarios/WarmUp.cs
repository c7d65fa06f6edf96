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
    private const string Product = "shm-protobuf";
    private const string Rival = "grpc-dotnet-uds";
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
        string[] arms = [Product, Rival];
        var found = arms.ToDictionary(arm => arm, _ => new List<Start>());
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        try
        {
            for (int round = 0; round < starts; round++)
            {
                foreach (string arm in round % 2 == 0 ? arms : arms.Reverse())
                {
                    found[arm].Add(await MeasureAsync(arm, Path.Combine(folder.FullName, $"{arm}.{round}")));
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
            + "connecting included, and the methods that both processes compile from their start on.",
            s_columns,
            [.. arms.Select(arm => Row(arm, found[arm], found[Rival]))]));
    }

    private static async Task<Start> MeasureAsync(string arm, string place)
    {
        (PeerProcess server, string served) = await PeerProcess.StartServerAsync(arm, place, s_deadline);
        await using PeerProcess _ = server;
        await using PeerProcess client = await PeerProcess.StartAsync($"client of {arm}");
        await client.AskAsync(new LineWriter(PeerVerbs.Connect).Add(arm).Add(served), s_deadline);
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

    private static string[] Row(string arm, List<Start> starts, List<Start> rivals)
    {
        var ratio = Ratio.Of(
            [.. starts.Select(start => (double)start.Answers)], [.. rivals.Select(start => (double)start.Answers)]);
        double[] figures =
        [
            Ratio.MedianOf(starts.Select(start => (double)start.Answers)), ratio.Median, ratio.Low, ratio.High,
            Ratio.MedianOf(starts.Select(start => (double)start.ClientMethods)),
            Ratio.MedianOf(starts.Select(start => (double)start.ServerMethods)),
            Ratio.MedianOf(starts.Select(start => (double)start.AnswersLater)),
        ];
        string[] row = [arm, .. figures.Select(Format.Number)];
        PerfRun.Say(string.Join("  ", row));
        return row;
    }

    private sealed record Start(long Answers, long ClientMethods, long ServerMethods, long AnswersLater);
}
