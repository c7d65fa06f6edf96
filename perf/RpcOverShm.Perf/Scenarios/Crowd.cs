using System.Text.RegularExpressions;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Many connections to one server: what connecting them takes, what they cost while nobody uses them, and what a few
/// callers reach that use them in turn. Each arm has processes of its own for each number of connections.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(14)]
[Category(nameof(Crowd))]
public sealed partial class Crowd
{
    private const string Product = "shm-protobuf";
    private const string Rival = "grpc-dotnet-uds";
    private const string Socket = "uds";
    private const int SizeBytes = 100;
    private const int ManyProcesses = 8;
    private const int WarmUps = 8;

    // With a slice of the usual length, few of a thousand connections would be used more than once.
    private const int SlicesEach = 4;

    // The bars are for these numbers of connections from one process.
    private const int Hundred = 100;
    private const int Thousand = 1000;

    // 5,000 need more descriptors than many systems allow. Where a server refuses them, the report has its words.
    private const int MostByDefault = 4000;
    private const int Most = 5000;

    private static readonly TimeSpan s_settling = TimeSpan.FromSeconds(8);
    private static readonly TimeSpan s_atRest = TimeSpan.FromSeconds(10);

    private static readonly string[] s_arms = [Product, Socket, Rival];

    private static readonly string[] s_columns =
    [
        "", "connections", "connected ms each", "Pss KiB each, client", "Pss KiB each, server", "threads, client",
        "threads, server", "CPU ms in 10 s", "4 blocking, k/s", "4 blocking, times grpc-dotnet",
        "4 blocking, low", "4 blocking, high", "64 awaiting, k/s", "64 awaiting, times grpc-dotnet",
        "64 awaiting, low", "64 awaiting, high",
    ];

    private static IEnumerable<TestCaseData> Sizes()
    {
        int[] counts = PerfSettings.IsFull ? [1, 10, Hundred, Thousand, MostByDefault, Most] : [1, Thousand];
        foreach (int connections in counts)
        {
            yield return new TestCaseData(connections, 1);
            if (PerfSettings.IsFull && connections >= ManyProcesses)
            {
                yield return new TestCaseData(connections / ManyProcesses * ManyProcesses, ManyProcesses);
            }
        }
    }

    [TestCaseSource(nameof(Sizes))]
    public async Task Connections_OfOneServer_AreCheapAndFast(int connections, int processes)
    {
        string name = processes == 1 ? $"{connections} connections" : $"{connections}, of {processes} processes";
        PerfRun.Say($"{nameof(Crowd)}: {name}.");
        PerfRun run = PerfRun.Current;
        await using var fleet = new Fleet([], processes);
        ArmPair[] pairs = [.. s_arms.Select(arm => fleet.MakePair(arm, arm))];
        try
        {
            await Task.WhenAll(pairs.Select(pair => pair.StartAsync()));
            await run.LearnFactsAsync(pairs[0]);
            Dictionary<string, IdleCost> idle = await MeasureIdleAsync(pairs, connections / processes);
            Dictionary<string, List<SliceResult>> blocking = await MeasureAsync(
                pairs, Order(CallerKind.Blocking, 4, connections, processes), processes, run.Settings);
            Dictionary<string, List<SliceResult>> awaiting = await MeasureAsync(
                pairs, Order(CallerKind.Async, 64, connections, processes), processes, run.Settings);
            run.Add(new ReportTable(
                $"{nameof(Crowd)}, {name}",
                Explain(),
                s_columns,
                [.. s_arms.Select(arm => Row(arm, connections, idle[arm], blocking, awaiting))]));
            if (processes == 1 && connections is Hundred or Thousand)
            {
                run.Report(SpeedBars(connections, blocking, awaiting));
            }

            if (processes == 1 && connections == Thousand)
            {
                run.Report(CostBars(idle));
            }
        }
        catch (PeerException exception)
            when (connections > MostByDefault && Refusal().Match(exception.Message) is { Success: true } refusal)
        {
            run.Add($"{nameof(Crowd)}, {name}: not measured. {refusal.Value}");
            Assert.Ignore(refusal.Value);
        }
        finally
        {
            foreach (ArmPair pair in pairs)
            {
                await pair.DisposeAsync();
            }
        }
    }

    private static LoadOrder Order(CallerKind caller, int callers, int connections, int processes) =>
        new(LoadShape.Echo, caller, SizeBytes)
        {
            Callers = Math.Max(1, callers / processes),
            Connections = connections / processes,
        };

    private static async Task<Dictionary<string, IdleCost>> MeasureIdleAsync(ArmPair[] pairs, int connectionsEach)
    {
        // The first connection's cost is mostly that of the runtime.
        var first = new LoadOrder(LoadShape.Echo, CallerKind.Async, SizeBytes) { Calls = 100 };
        var found = new Dictionary<string, IdleCost>();
        foreach (ArmPair pair in pairs)
        {
            await pair.RunAsync(first with { Duration = TimeSpan.FromSeconds(5) }, pair.Clients);
            (FootprintSample Server, FootprintSample Client) one = await pair.FootprintAsync();
            TimeSpan time = await pair.WidenAsync(connectionsEach - 1, callsEach: 1);
            found.Add(pair.Label, new IdleCost(connectionsEach - 1, pair.Clients, time, one));
        }

        await Task.Delay(connectionsEach == 1 ? TimeSpan.Zero : s_settling);
        var before = new Dictionary<string, ResourceSample>();
        foreach (ArmPair pair in pairs)
        {
            found[pair.Label].After = await pair.FootprintAsync();
            await pair.SampleAsync(); // The first sample is compiled.
            before.Add(pair.Label, await pair.SampleAsync());
        }

        // The bar is for a thousand connections; the others would cost the plain run its time.
        if (connectionsEach == Thousand || PerfSettings.IsFull)
        {
            await Task.Delay(s_atRest);
            foreach (ArmPair pair in pairs)
            {
                ResourceSample used = await pair.SampleAsync() - before[pair.Label];
                found[pair.Label].CpuMs = used.CpuMicroseconds / 1000.0;
            }
        }

        return found;
    }

    private static Task<Dictionary<string, List<SliceResult>>> MeasureAsync(
        ArmPair[] pairs, LoadOrder order, int processes, PerfSettings settings)
    {
        TimeSpan slice = order.Connections < Hundred ? settings.Slice : settings.Slice * SlicesEach;
        order = order with { LeadIn = slice * PerfSettings.LeadInShare, Duration = slice };
        IEnumerable<LoadOrder> orders = Enumerable.Repeat(order, processes);
        return Turn.TakeAllAsync(
            pairs.Select(pair => new Turn(pair.Label, pair, [.. orders])),
            settings,
            settings.Rounds,
            order.Connections < Hundred ? WarmUps : WarmUps / SlicesEach);
    }

    private static string[] Row(
        string arm,
        int connections,
        IdleCost idle,
        Dictionary<string, List<SliceResult>> blocking,
        Dictionary<string, List<SliceResult>> awaiting)
    {
        double?[] figures =
        [
            connections,
            idle.ConnectMs, idle.ClientKiB, idle.ServerKiB, idle.After.Client.Threads, idle.After.Server.Threads,
            idle.CpuMs,
            .. Rates(arm, blocking), .. Rates(arm, awaiting),
        ];
        string[] row = [arm, .. figures.Select(figure => figure is { } value ? Format.Number(value) : "")];
        PerfRun.Say(string.Join("  ", row));
        return row;
    }

    private static double?[] Rates(string arm, Dictionary<string, List<SliceResult>> found)
    {
        Ratio ratio = TimesFaster(found, Rival, arm);
        return [1000 / Ratio.MedianOf(MicrosecondsEach(found[arm])), ratio.Median, ratio.Low, ratio.High];
    }

    private static Ratio TimesFaster(Dictionary<string, List<SliceResult>> found, string rival, string arm = Product) =>
        Ratio.Of(MicrosecondsEach(found[rival]), MicrosecondsEach(found[arm]));

    private static double[] MicrosecondsEach(List<SliceResult> slices) =>
        [.. slices.Select(slice => RoundFigures.Of(slice).PerMessageUs)];

    private static ReportBar[] SpeedBars(
        int connections,
        Dictionary<string, List<SliceResult>> blocking,
        Dictionary<string, List<SliceResult>> awaiting) =>
    [
        MakeBar($"4 threads over {connections} connections, times {Rival}", TimesFaster(blocking, Rival), 8, 8),
        MakeBar($"4 threads over {connections} connections, times {Socket}", TimesFaster(blocking, Socket), 3, 3),
        MakeBar($"64 awaiting over {connections} connections, times {Rival}", TimesFaster(awaiting, Rival), 12, 12),
    ];

    private static ReportBar[] CostBars(Dictionary<string, IdleCost> found)
    {
        IdleCost product = found[Product];
        double larger = Math.Max(product.ClientKiB!.Value, product.ServerKiB!.Value);
        double threads = product.After.Server.Threads - product.Before.Server.Threads;
        double connecting = product.ConnectMs!.Value / found[Rival].ConnectMs!.Value;
        return
        [
            AtMost("Pss each, in the larger process", larger, 100, 60, "KiB"),
            AtMost("threads more in the server", threads, 4, 4, "threads"),
            AtMost("CPU in 10 s at rest", product.CpuMs!.Value, 20, 20, "ms"),
            AtMost($"connecting with a first call, to {Rival}", connecting, 1, 1, "times"),
        ];

        // Measured once: there is no interval.
        static ReportBar AtMost(string figure, double value, double limit, double aim, string unit) => MakeBar(
            $"{Thousand} connections, {figure}", Ratio.Single(value), limit, aim, isUpper: true, unit);
    }

    private static ReportBar MakeBar(
        string figure, Ratio found, double limit, double aim, bool isUpper = false, string unit = "times") =>
        ReportBar.Of(figure, nameof(Crowd), found, limit, aim, isUpper, unit);

    [GeneratedRegex(@"The server takes no more clients: [^)]*\)\.")]
    private static partial Regex Refusal();

    private static string Explain() =>
        $"The client opens connections one after another, each with a call of {SizeBytes} B; the time of each includes "
        + "that call. Memory is the growth of Pss by each further connection, after "
        + $"{s_settling.TotalSeconds:0} s of silence; the processor time, where it was measured, is that of all "
        + $"processes in the {s_atRest.TotalSeconds:0} s that follow. Then callers use all connections in turn: four "
        + "threads that block, and 64 tasks that await. The ratios compare the rates of the same rounds. "
        + $"Of {ManyProcesses} processes each has its share of the connections, a thread and eight tasks.";

    /// <summary>The cost of the further connections of one arm, all used by nobody.</summary>
    private sealed class IdleCost(
        int further, int processes, TimeSpan connecting, (FootprintSample Server, FootprintSample Client) before)
    {
        private const double Kibibyte = 1024;

        public (FootprintSample Server, FootprintSample Client) Before => before;

        public (FootprintSample Server, FootprintSample Client) After { get; set; }

        /// <summary>The processor time of all processes at rest; null if it was not measured.</summary>
        public double? CpuMs { get; set; }

        /// <summary>Null with one connection only, like the other figures of each.</summary>
        public double? ConnectMs => Each(connecting.TotalMilliseconds, further * processes);

        public double? ClientKiB => Each((After.Client.PssBytes - before.Client.PssBytes) / Kibibyte, further);

        public double? ServerKiB =>
            Each((After.Server.PssBytes - before.Server.PssBytes) / Kibibyte, further * processes);

        private static double? Each(double value, int count) => count == 0 ? null : value / count;
    }
}
