namespace RpcOverShm.Perf.Report.Charts;

/// <summary>Makes the charts of a report from its rows.</summary>
internal static class ReportCharts
{
    private const string SizeAxis = "bytes of a message";

    private static readonly (string Name, Func<ReportRow, double> Of)[] s_times =
        [("median", row => row.P50Us), ("99th percentile", row => row.P99Us)];

    public static IEnumerable<Chart> Of(PerfReport report)
    {
        foreach (CallerKind caller in Enum.GetValues<CallerKind>())
        {
            string name = caller == CallerKind.Blocking ? "blocking" : "awaiting";
            foreach ((string figure, Func<ReportRow, double> time) in s_times)
            {
                yield return Make(
                    $"Latency against size, one {name} caller, {figure}",
                    $"PingPong: the {figure} of the round trips. Lower is better. Both axes are logarithmic.",
                    "µs",
                    Plain(report, "PingPong").Where(row => row.Callers == 1 && row.Caller == caller),
                    time);
            }
        }

        yield return Make(
            "Throughput against size, one way",
            "BlockSweep: blocks from the server to the client, every byte read. Higher is better.",
            "MB/s",
            Plain(report, "BlockSweep"),
            row => row.MegabytesPerSecond);
        yield return Make(
            "Throughput against size, round trips",
            "PingPong with one caller, in the faster of its forms: bytes one way. Higher is better.",
            "MB/s",
            Plain(report, "PingPong").Where(row => row.Callers == 1),
            row => row.MegabytesPerSecond);
        foreach (int size in Plain(report, "OneWayPump").Select(row => row.SizeBytes).Distinct().Order())
        {
            Chart crowd = Make(
                $"Throughput against client processes, {Format.Size(size)}",
                "OneWayPump: all clients together into one server. Higher is better.",
                "MB/s",
                Plain(report, "OneWayPump").Where(row => row.SizeBytes == size),
                row => row.MegabytesPerSecond,
                row => row.Clients);
            yield return crowd with { XName = "client processes", XLabel = Format.Short };
        }
    }

    // A twin and a slower form would only draw the same line again, and a logarithmic axis has no 0 bytes.
    private static IEnumerable<ReportRow> Plain(PerfReport report, string scenario) => report.Rows.Where(row =>
        row.Scenario == scenario && row.Variant.Length == 0 && row.SizeBytes > 0 && row.P50Us > 0
        && row.Arm is not (Fleet.BaselineAgain or "pipe-sync" or "pipe-async" or "cache-line"));

    private static Chart Make(
        string title,
        string note,
        string yName,
        IEnumerable<ReportRow> rows,
        Func<ReportRow, double> y,
        Func<ReportRow, double>? x = null)
    {
        x ??= static row => row.SizeBytes;
        var series =
            from row in rows
            group row by row.Arm into arm
            select new ChartSeries(arm.Key, [.. PointsOf(arm, x, y)]);
        return new Chart(title, note, SizeAxis, yName, bytes => Format.Size((int)bytes), [.. series]);
    }

    // If there are two forms of an arm at one place, the faster one.
    private static IEnumerable<(double X, double Y)> PointsOf(
        IEnumerable<ReportRow> arm, Func<ReportRow, double> x, Func<ReportRow, double> y) =>
        from row in arm
        group row by x(row) into place
        orderby place.Key
        select (place.Key, y(place.MinBy(row => row.MeanUs)!));
}
