namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// A given number of round trips of a given size by every local mechanism, once each, as the well-known C benchmarks do
/// it: total, mean, shortest, longest, deviation and rate. No rounds, no ratios: the other scenarios compare.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(8)]
[Category(nameof(IpcBench))]
public sealed class IpcBench
{
    private const string CountVariable = "RPCOVERSHM_PERF_COUNT";
    private const string SizeVariable = "RPCOVERSHM_PERF_SIZE";
    private static readonly TimeSpan s_longest = TimeSpan.FromMinutes(5);

    private static readonly string[] s_columns =
    [
        "mechanism", "total ms", "mean µs", "min µs", "max µs", "deviation µs", "messages/s", "p50 µs", "p99 µs",
    ];

    [Test]
    public async Task Echo_EveryMechanism_ComesBackAsSent()
    {
        PerfRun run = PerfRun.Current;
        await run.StartFleetAsync();
        int count = PerfSettings.NumberOf(CountVariable, 1000);
        int size = PerfSettings.NumberOf(SizeVariable, 4096);
        var order = new LoadOrder(LoadShape.Echo, CallerKind.Blocking, size) { Calls = count };
        var cell = new CellRecorder(
            new CellPlan(nameof(IpcBench), order) { Arms = ArmSets.Mechanisms }, run.Fleet, run.Settings);
        PerfRun.Say($"{nameof(IpcBench)}: {count} messages of {size} bytes, {cell.Entrants.Count} ways.");
        await cell.WarmAsync();
        var rows = new List<string[]>();
        foreach (Entrant entrant in cell.Entrants.Where(entrant => entrant.Failure is null))
        {
            SliceResult slice = await entrant.RunAsync(TimeSpan.Zero, s_longest);
            rows.Add(RowOf(entrant, slice.Client));
        }

        run.Add(new ReportTable(
            $"IpcBench, {count} messages of {Format.Size(size)}",
            string.Join(' ', [
                "One run each, in this order; few messages measure a warm-up more than a mechanism.",
                .. cell.TooSmall.Select(arm => $"{arm.Name} is left out: it carries {arm.LargestBytes} B at most."),
                .. ArmSets.KernelQueues.Except(ArmSets.Mechanisms)
                    .Select(name => $"{name} is left out: this system has none."),
            ]),
            s_columns,
            rows));
        Assert.Multiple(() =>
        {
            foreach (Entrant entrant in cell.Entrants)
            {
                Assert.That(entrant.Failure, Is.Null, $"{entrant.Label} has failed and has no row.");
            }
        });
    }

    private static string[] RowOf(Entrant entrant, LoadResult result)
    {
        LatencyHistogram times = result.Times;
        double seconds = result.ElapsedTicks / (double)Stopwatch.Frequency;
        double[] values =
        [
            seconds * 1000, Us(times.Mean), Us(times.Lowest), Us(times.Max), Us(times.Deviation),
            times.Count / seconds, Us(times.ValueAt(0.5)), Us(times.ValueAt(0.99)),
        ];
        string name = $"{entrant.Label}, {entrant.Caller.ToString().ToLowerInvariant()}";
        return [name, .. values.Select(Format.Number)];
    }

    private static double Us(double ticks) => RoundFigures.Microseconds(ticks);
}
