using System.Globalization;
using System.Net;
using System.Text;
using RpcOverShm.Perf.Report.Charts;

namespace RpcOverShm.Perf.Report;

/// <summary>Writes the report as one page that needs nothing beside it: no script, no font, no picture.</summary>
internal static class HtmlReport
{
    private const string Style = """
        :root{color-scheme:light}
        body{font:16px/1.45 system-ui,sans-serif;color:#111;background:#fff;max-width:70rem;margin:0 auto;padding:1rem}
        h1{font-size:1.6rem}h2{margin-top:2.2rem;border-bottom:2px solid #111}h3{margin:.4rem 0}
        .scroll{overflow-x:auto}
        table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
        th,td{padding:.2rem .55rem;border-bottom:1px solid #ccc;text-align:right;white-space:nowrap;vertical-align:top}
        th:first-child,td:first-child,.words th,.words td{text-align:left;white-space:normal}
        th{border-bottom:2px solid #111}.words td:first-child{min-width:11rem}
        .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1.5rem}
        figure{margin:0}figure>svg{width:100%;height:auto}figure p{margin:.2rem 0;font-size:.86rem}
        svg text{font:13px system-ui,sans-serif;fill:#111}.grid{stroke:#ddd;stroke-width:1}
        .legend{list-style:none;padding:0;margin:.3rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.86rem}
        .missed{font-weight:bold;text-decoration:underline}
        details{margin:.4rem 0}summary{cursor:pointer}
        @media print{details{display:block}}
        """;

    private static readonly string[] s_barColumns = ["figure", "bar", "aim", "measured, 95 % interval", "verdict"];

    private static readonly string[] s_costColumns =
    [
        "arm", "caller", "CPU µs, all processes", "client B allocated", "server B allocated", "context switches",
        "copies of a byte, one way", "p50 µs", "per second",
    ];

    private static readonly string[] s_rowColumns =
    [
        "arm", "caller", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs", "mean µs", "per second", "MB/s", "ratio",
        "95 % interval", "won", "on schedule",
    ];

    public static string Write(PerfReport report, IReadOnlyList<MeasuredRow> rows)
    {
        var html = new StringBuilder();
        html.Append("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">")
            .Append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">")
            .Append("<title>RpcOverShm performance</title><style>").Append(Style).AppendLine("</style></head><body>");
        WriteIntroduction(html, report);
        WriteBars(html, report);
        WriteCharts(html, report);
        WriteCosts(html, rows);
        WriteCells(html, rows);
        foreach (ReportTable table in report.Tables)
        {
            WriteTable(html, table);
        }

        html.AppendLine("<h2>What cannot run here</h2>");
        foreach (ReportTable table in RivalTables.All)
        {
            WriteTable(html, table);
        }

        WriteNotes(html, report);
        html.AppendLine("<h2>Machine and run</h2>");
        WriteRows(html, ["fact", "value"], MachineTable.Rows(report), "words");
        return html.AppendLine("</body></html>").ToString();
    }

    private static void WriteIntroduction(StringBuilder html, PerfReport report)
    {
        html.Append(CultureInfo.InvariantCulture, $"<h1>RpcOverShm performance</h1><p>{Text(report.Machine.Date)}, ")
            .Append(CultureInfo.InvariantCulture, $"commit {Text(report.Machine.Commit)}, ")
            .Append(CultureInfo.InvariantCulture, $"{Text(report.Machine.CpuModel)}, ")
            .Append(CultureInfo.InvariantCulture, $"{report.Machine.Cores} cores")
            .Append(report.Machine.Hypervisor ? " of a virtual machine" : "")
            .AppendLine(CultureInfo.InvariantCulture, $", {Text(report.Machine.Runtime)}.</p>")
            .AppendLine(
                "<p>Processes of their own for every arm, arms in shuffled order within every round, every byte "
                + "checked on both sides. A ratio is an arm's time over the baseline's in the same round: below 1 is "
                + "faster. The baseline is <code>pipe</code>, a .NET named pipe, on Linux a Unix socket, in the "
                + "faster of its two forms. What all of it means, and what not: perf/README.md.</p>");
        if (report.NoiseFloor is { } floor)
        {
            html.AppendLine(CultureInfo.InvariantCulture,
                $"<p><b>Noise floor:</b> the baseline against its own twin came out between {floor.Low:0.00} and "
                + $"{floor.High:0.00}. A ratio in between is no difference.</p>");
        }
    }

    private static void WriteBars(StringBuilder html, PerfReport report)
    {
        if (report.Bars.Count == 0)
        {
            return;
        }

        html.AppendLine(CultureInfo.InvariantCulture,
            $"<h2>Bars: {report.Bars.Count(bar => bar.IsMet)} of {report.Bars.Count} met</h2>");
        WriteRows(
            html,
            s_barColumns,
            report.Bars.Select(
                bar => (string[])[$"{bar.Figure} [{bar.Cell}]", bar.Bar, bar.Aim, bar.Found, bar.Verdict]),
            "words");
    }

    private static void WriteCharts(StringBuilder html, PerfReport report)
    {
        html.AppendLine("<h2>Charts</h2><div class=\"charts\">");
        foreach (Chart chart in ReportCharts.Of(report).Where(chart => chart.Series.Count > 0))
        {
            SvgChart.Write(html, chart);
        }

        html.AppendLine("</div>");
    }

    private static void WriteCosts(StringBuilder html, IReadOnlyList<MeasuredRow> rows)
    {
        var cells = rows
            .Where(row => row.Row.Scenario is "PingPong" or "Stream")
            .Where(row => row.Row.SizeBytes is 100 or 1 << 10)
            .GroupBy(row => (row.Row.Scenario, row.Cell));
        html.AppendLine("<h2>Cost of a call or message</h2>");
        foreach (var cell in cells)
        {
            html.AppendLine(CultureInfo.InvariantCulture, $"<h3>{Text(cell.Key.Scenario)}, {Text(cell.Key.Cell)}</h3>");
            WriteRows(html, s_costColumns, cell.OrderBy(row => row.Row.Caller).Select(CostOf));
        }
    }

    private static string[] CostOf(MeasuredRow measured)
    {
        ReportRow row = measured.Row;
        return
        [
            row.Arm, CallerOf(row), Format.Number(row.CpuUsPerCall), Format.Number(row.AllocatedBytesPerCallClient),
            Format.Number(row.AllocatedBytesPerCallServer), Format.Number(measured.SwitchesPerCall),
            CopyCounts.Of(row.Arm), Format.Number(row.P50Us), Format.Number(row.PerSecond),
        ];
    }

    private static void WriteCells(StringBuilder html, IReadOnlyList<MeasuredRow> rows)
    {
        html.AppendLine("<h2>Every cell</h2>");
        foreach (var cell in rows.GroupBy(row => (row.Row.Scenario, row.Cell)))
        {
            html.AppendLine(CultureInfo.InvariantCulture,
                $"<details><summary>{Text(cell.Key.Scenario)}, {Text(cell.Key.Cell)}</summary>");
            WriteRows(html, s_rowColumns, cell.OrderBy(row => row.Row.Caller).Select(RowOf));
            html.AppendLine("</details>");
        }
    }

    private static string[] RowOf(MeasuredRow measured)
    {
        ReportRow row = measured.Row;
        double[] times = [row.P50Us, row.P90Us, row.P99Us, row.P999Us, row.MaxUs, row.MeanUs];
        string schedule = row.Schedule is not { } found ? ""
            : $"{Format.Number(found.OfferedPerSecond)}/s {(found.MissedRate ? "MISSED" : "kept")}, as started p50 "
                + $"{Format.Number(found.UncorrectedP50Us)}, p99 {Format.Number(found.UncorrectedP99Us)}";
        return
        [
            row.Arm, CallerOf(row), .. times.Select(Format.Number), Format.Number(row.PerSecond),
            Format.Number(row.MegabytesPerSecond), Format.Number(row.Ratio),
            $"{Format.Number(row.RatioLow)} to {Format.Number(row.RatioHigh)}",
            $"{measured.RoundsWon} of {measured.Rounds}", schedule,
        ];
    }

    private static string CallerOf(ReportRow row) => row.Caller.ToString().ToLowerInvariant();

    private static void WriteTable(StringBuilder html, ReportTable table)
    {
        html.AppendLine(CultureInfo.InvariantCulture, $"<h3>{Text(table.Title)}</h3><p>{Text(table.Note)}</p>");
        WriteRows(html, table.Columns, table.Rows);
    }

    private static void WriteNotes(StringBuilder html, PerfReport report)
    {
        html.Append("<h2>Further findings</h2><ul>");
        foreach (string note in report.Notes)
        {
            html.Append("<li>").Append(Text(note)).Append("</li>");
        }

        html.AppendLine("</ul>");
    }

    private static void WriteRows(
        StringBuilder html, IReadOnlyList<string> columns, IEnumerable<IReadOnlyList<string>> rows, string style = "")
    {
        html.Append(CultureInfo.InvariantCulture, $"<div class=\"scroll\"><table class=\"{style}\"><thead><tr>");
        html.AppendJoin("", columns.Select(column => $"<th>{Text(column)}</th>")).Append("</tr></thead><tbody>");
        foreach (IReadOnlyList<string> row in rows)
        {
            html.Append("<tr>").AppendJoin("", row.Select(Cell)).Append("</tr>");
        }

        html.AppendLine("</tbody></table></div>");
    }

    private static string Cell(string text) => text.Contains("MISSED", StringComparison.Ordinal)
        ? $"<td class=\"missed\">{Text(text)}</td>"
        : $"<td>{Text(text)}</td>";

    private static string Text(string text) => WebUtility.HtmlEncode(text);
}
