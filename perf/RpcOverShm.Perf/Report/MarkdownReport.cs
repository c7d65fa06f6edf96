using System.Globalization;
using System.Text;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peers;

namespace RpcOverShm.Perf.Report;

/// <summary>
/// Writes the report as text for people: the bars, a table for each cell, the notes of scenarios without rows, and the
/// facts.
/// </summary>
internal static class MarkdownReport
{
    private static readonly string[] s_columns =
    [
        "arm", "caller", "p50 µs", "p99 µs", "p99.9 µs", "mean µs", "per second", "MB/s", "CPU µs", "switches",
        "client B", "server B", "ratio", "95 % interval", "won",
    ];

    private static readonly string[] s_scheduleColumns = ["offered/s", "as started: p50 µs", "p99 µs", "rate"];

    private static readonly string[] s_barColumns = ["figure", "cell", "bar", "aim", "measured (95 %)", "verdict"];

    public static string Write(PerfReport report, IReadOnlyList<MeasuredRow> rows)
    {
        var text = new StringBuilder();
        text.AppendLine("# Performance").AppendLine();
        WriteIntroduction(text, report);
        if (report.Bars.Count > 0)
        {
            IEnumerable<string[]> bars = report.Bars.Select(
                bar => (string[])[bar.Figure, bar.Cell, bar.Bar, bar.Aim, bar.Found, bar.Verdict]);
            text.AppendLine("## Bars").AppendLine();
            WriteTable(text, s_barColumns, texts: s_barColumns.Length, bars);
        }

        foreach (IGrouping<(string Scenario, string Cell), MeasuredRow> cell in rows.GroupBy(CellOf))
        {
            WriteCell(text, cell.Key.Scenario, cell.Key.Cell, [.. cell]);
        }

        foreach (ReportTable table in report.Tables)
        {
            text.Append("## ").AppendLine(table.Title).AppendLine().AppendLine(table.Note).AppendLine();
            WriteTable(text, table.Columns, texts: 1, table.Rows);
        }

        WriteNotes(text, report.Notes);
        text.AppendLine("## Machine and run").AppendLine();
        WriteTable(text, ["", ""], texts: 2, MachineTable.Rows(report));
        return text.ToString();
    }

    private static void WriteIntroduction(StringBuilder text, PerfReport report)
    {
        text.AppendLine(
            "Processes of their own for every arm. The ratio is this arm's time (p50 of a call, or time per message) "
            + "over the baseline's in the same round, the median of all rounds: below 1 is faster. The baseline is "
            + "`pipe`, a .NET named pipe, on Linux a Unix socket underneath, in the faster of its two forms. CPU, "
            + "switches and bytes are per call or message; CPU and switches of all processes together. What all of it "
            + "means, and what not: perf/README.md.").AppendLine();
        if (report.NoiseFloor is { } floor)
        {
            text.AppendLine(CultureInfo.InvariantCulture,
                $"Noise floor: the baseline against its own twin came out between {floor.Low:0.00} and "
                + $"{floor.High:0.00}. A ratio in between is no difference.").AppendLine();
        }
    }

    private static (string Scenario, string Cell) CellOf(MeasuredRow row) => (row.Row.Scenario, row.Cell);

    private static void WriteCell(StringBuilder text, string scenario, string cell, MeasuredRow[] rows)
    {
        bool isScheduled = rows.Any(row => row.Row.Schedule is not null);
        text.AppendLine(CultureInfo.InvariantCulture, $"## {scenario}, {cell}").AppendLine();
        string[] columns = isScheduled ? [.. s_columns, .. s_scheduleColumns] : s_columns;
        WriteTable(text, columns, texts: 2, rows.OrderBy(row => row.Row.Caller).Select(row => Cells(row, isScheduled)));
        MeasuredRow? baseline = rows.FirstOrDefault(row => row.Row.Arm == Fleet.Baseline);
        if (baseline is not null)
        {
            string form = baseline.Form == CallerKind.Blocking ? "blocking" : "awaiting";
            long compiled = rows.DistinctBy(row => (row.Row.Arm, row.Form)).Sum(row => row.CompiledMethods);
            text.AppendLine(CultureInfo.InvariantCulture,
                $"Here the {form} form of the pipe is the faster one. "
                + $"Methods compiled while the clock ran: {compiled}.").AppendLine();
        }
    }

    private static string[] Cells(MeasuredRow measured, bool isScheduled)
    {
        ReportRow row = measured.Row;
        string[] cells =
        [
            row.Arm, row.Caller.ToString().ToLowerInvariant(), Format.Number(row.P50Us), Format.Number(row.P99Us),
            Format.Number(row.P999Us), Format.Number(row.MeanUs), Format.Number(row.PerSecond),
            Format.Number(row.MegabytesPerSecond), Format.Number(row.CpuUsPerCall),
            Format.Number(measured.SwitchesPerCall), Format.Number(row.AllocatedBytesPerCallClient),
            Format.Number(row.AllocatedBytesPerCallServer), Format.Number(row.Ratio),
            $"{Format.Number(row.RatioLow)} to {Format.Number(row.RatioHigh)}",
            $"{measured.RoundsWon} of {measured.Rounds}",
        ];
        if (!isScheduled || row.Schedule is not { } schedule)
        {
            return cells;
        }

        return
        [
            .. cells, Format.Number(schedule.OfferedPerSecond), Format.Number(schedule.UncorrectedP50Us),
            Format.Number(schedule.UncorrectedP99Us), schedule.MissedRate ? "MISSED" : "kept",
        ];
    }

    private static void WriteNotes(StringBuilder text, IReadOnlyList<string> notes)
    {
        if (notes.Count == 0)
        {
            return;
        }

        text.AppendLine("## Further findings").AppendLine();
        foreach (string note in notes)
        {
            text.Append("- ").AppendLine(note);
        }

        text.AppendLine();
    }

    private static void WriteTable(
        StringBuilder text, IReadOnlyList<string> columns, int texts, IEnumerable<IReadOnlyList<string>> rows)
    {
        text.Append("| ").AppendJoin(" | ", columns).AppendLine(" |").Append('|');
        for (int i = 0; i < columns.Count; i++)
        {
            text.Append(i < texts ? "---|" : "---:|");
        }

        text.AppendLine();
        foreach (IReadOnlyList<string> row in rows)
        {
            text.Append("| ").AppendJoin(" | ", row).AppendLine(" |");
        }

        text.AppendLine();
    }
}
