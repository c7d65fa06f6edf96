namespace RpcOverShm.Perf.Report;

/// <summary>The content of the report for people, for the page and for Markdown alike.</summary>
internal static class ReportParts
{
    private const string Reading =
        "Processes of their own for every arm, arms in shuffled order within every round, every byte checked on both "
        + "sides. A ratio is an arm's time (p50 of a call, or time per message) over the baseline's in the same round, "
        + "the median of all rounds: below 1 is faster. The baseline is `pipe`, a .NET named pipe, on Linux a Unix "
        + "socket underneath, in the faster of its two forms. The noise of a cell is the interval of `pipe-again`, "
        + "which is the pipe once more: a ratio in between is no difference. CPU, switches and bytes are per call or "
        + "message, CPU and switches of all processes together. More, and what it does not mean: "
        + "[perf/README.md](../README.md#the-figures).";

    private const string Judging =
        "A bar is a goal for one figure of this run, an aim a better one. A missed bar is only reported, unless "
        + "`RPCOVERSHM_PERF_ASSERT=1` asks for a failure.";

    private const double NoticeablePercent = 10;

    private static readonly string[] s_columns =
    [
        "arm", "caller", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs", "mean µs", "per second", "MB/s",
        "CPU µs", "switches", "client B", "server B", "ratio", "95 % interval", "won",
    ];

    private static readonly string[] s_scheduleColumns = ["offered/s", "as started: p50 µs", "p99 µs", "rate"];

    /// <summary>Makes the parts with content, in their order.</summary>
    public static IReadOnlyList<ReportPart> Of(PerfReport report, IReadOnlyList<MeasuredRow> rows, bool hasCharts)
    {
        Chart[] charts = [.. ReportCharts.Of(report).Where(chart => hasCharts && chart.Series.Count > 0)];
        IEnumerable<ReportPart> parts =
        [
            LoadOf(report.Machine),
            WeakestPart.Of(rows),
            SpeedPart.Of(report, rows),
            new("How to read it", Reading),
            new("Charts") { Charts = charts },
            LegendOf(report),
            .. rows.GroupBy(row => row.Row.Scenario).SelectMany(ScenarioOf),
            .. report.Tables.Select(TableOf),
            BarsOf(report),
            new("What cannot run here", "See [perf/README.md](../README.md#what-others-do-that-cannot-run-here)."),
            new("Further findings", string.Join('\n', report.Notes.Select(note => "- " + note))),
            new("Machine and run") { Columns = ["fact", "value"], Texts = 2, Rows = report.Machine.Rows(report.Seed) },
        ];
        ReportPart[] full = [.. parts.Where(part => !part.IsEmpty)];
        IEnumerable<string> contents =
            full.Where(part => part.Level == 2).Select(part => $"[{part.Title}](#{part.Anchor})");
        return [new ReportPart("Performance", string.Join(" · ", contents)) { Level = 1 }, .. full];
    }

    private static ReportPart LoadOf(MachineFacts machine)
    {
        bool isBusy = machine.OthersPercent >= NoticeablePercent;
        string found = Format.Invariant(
            $"In the second before the run, the processors were {machine.OthersPercent} % busy, with other programs, ")
            + "the start of this one, or the hypervisor's other machines.";
        return new ReportPart(
            isBusy ? "The machine was busy" : "The machine was quiet",
            isBusy ? $"{found} On a quiet machine the times are shorter, and the ratios are others." : found);
    }

    private static ReportPart BarsOf(PerfReport report)
    {
        string text = $"{Judging} {report.Bars.Count(bar => bar.IsMet)} of {report.Bars.Count} are met.";
        return new ReportPart("Bars", report.Bars.Count == 0 ? "" : $"{text} {NullComparisonOf(report)}".TrimEnd())
        {
            Columns = ["figure", "cell", "bar", "aim", "measured (95 %)", "noise of the cell", "verdict"],
            Texts = 7,
            Rows = [.. report.Bars.Select(RowOf)],
        };
    }

    // A method that finds differences where there are none finds others by chance too.
    private static string NullComparisonOf(PerfReport report)
    {
        // Both kinds of caller have a row with the same figures.
        ReportRow[] rows =
        [
            .. report.Rows.Where(row => row.Arm == Fleet.BaselineAgain)
                .DistinctBy(row =>
                    (row.Scenario, row.SizeBytes, row.ReplyBytes, row.Callers, row.Clients, row.Variant)),
        ];
        int agreeing = rows.Count(row => row.RatioLow <= 1 && row.RatioHigh >= 1);
        return rows.Length == 0
            ? ""
            : $"The interval of the pipe against itself contains 1 in {agreeing} of {rows.Length} cells.";
    }

    private static string[] RowOf(ReportBar bar)
    {
        string noise = bar.Noise is { } found ? Interval(found.Low, found.High) : "–";
        return [bar.Figure, bar.Cell, bar.Bar, bar.Aim, bar.Found, noise, bar.Verdict];
    }

    private static ReportPart LegendOf(PerfReport report)
    {
        IEnumerable<string> inTables = report.Tables.SelectMany(table => table.Rows, (_, row) => row[0].Split(',')[0]);
        IEnumerable<string> arms = report.Rows.Select(row => row.Arm)
            .Concat(inTables.Where(name => SuiteReadme.Of(name).Sentence.Length > 0)).Distinct();
        return new ReportPart("Arms")
        {
            Columns = ["arm", "what it is", "copies of a byte, one way"],
            Texts = 3,
            Rows =
            [
                .. arms.Select(arm => (Name: arm, Is: SuiteReadme.Of(arm)))
                    .Select(arm => (string[])[$"`{arm.Name}`", arm.Is.Sentence, arm.Is.Next]),
            ],
        };
    }

    private static IEnumerable<ReportPart> ScenarioOf(IGrouping<string, MeasuredRow> rows)
    {
        string file = rows.Key == "Stream" ? "StreamScenario" : rows.Key;
        string code = $"[code](../RpcOverShm.Perf/Scenarios/{file}.cs)";
        yield return new ReportPart(
            rows.Key, $"{SuiteReadme.Of(rows.Key).Sentence} [What a time is](../README.md#what-is-measured), {code}.");
        foreach ((int index, IGrouping<string, MeasuredRow> cell) in rows.GroupBy(row => row.Cell).Index())
        {
            bool isScheduled = cell.Any(row => row.Row.Schedule is not null);
            yield return new ReportPart($"{rows.Key}, {cell.Key}", NoteOf([.. cell]))
            {
                Level = 3,
                Columns = isScheduled ? [.. s_columns, .. s_scheduleColumns] : s_columns,
                Texts = 2,
                Rows = [.. cell.OrderBy(row => row.Row.Caller).Select(CellsOf)],
                IsFolded = index > 0,
            };
        }
    }

    private static ReportPart TableOf(ReportTable table) =>
        new(table.Title, table.Note) { Columns = table.Columns, Rows = table.Rows };

    private static string NoteOf(MeasuredRow[] rows)
    {
        if (rows.FirstOrDefault(row => row.Row.Arm == Fleet.Baseline) is not { } baseline)
        {
            return "";
        }

        string form = baseline.Form == CallerKind.Blocking ? "blocking" : "awaiting";
        long compiled = rows.DistinctBy(row => (row.Row.Arm, row.Form)).Sum(row => row.CompiledMethods);
        return string.Create(
            CultureInfo.InvariantCulture,
            $"Here the {form} form of the pipe is the faster one. Methods compiled while the clock ran: {compiled}.");
    }

    private static string[] CellsOf(MeasuredRow measured)
    {
        ReportRow row = measured.Row;
        double[] numbers =
        [
            row.P50Us, row.P90Us, row.P99Us, row.P999Us, row.MaxUs, row.MeanUs, row.PerSecond, row.MegabytesPerSecond,
            row.CpuUsPerCall, measured.SwitchesPerCall, row.AllocatedBytesPerCallClient,
            row.AllocatedBytesPerCallServer, row.Ratio,
        ];
        string[] cells =
        [
            row.Arm, row.Caller.ToString().ToLowerInvariant(), .. numbers.Select(Format.Number),
            Interval(row.RatioLow, row.RatioHigh), $"{measured.RoundsWon} of {measured.Rounds}",
        ];
        return row.Schedule is not { } schedule ? cells :
        [
            .. cells, Format.Number(schedule.OfferedPerSecond), Format.Number(schedule.UncorrectedP50Us),
            Format.Number(schedule.UncorrectedP99Us), schedule.MissedRate ? "MISSED" : "kept",
        ];
    }

    private static string Interval(double low, double high) => $"{Format.Number(low)} to {Format.Number(high)}";
}
