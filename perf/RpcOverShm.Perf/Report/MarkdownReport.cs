using System.Globalization;
using System.Text;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peers;
using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Report;

/// <summary>
/// Writes the report for people: a table for each cell, the notes of scenarios without rows, and the facts.
/// </summary>
internal static class MarkdownReport
{
    private static readonly string[] s_columns =
    [
        "arm", "caller", "p50 µs", "p99 µs", "mean µs", "per second", "MB/s", "CPU µs", "switches", "client B",
        "server B", "ratio", "95 % interval", "won",
    ];

    public static string Write(PerfReport report, IReadOnlyList<MeasuredRow> rows, IReadOnlyList<string> notes)
    {
        var text = new StringBuilder();
        text.AppendLine("# Performance").AppendLine();
        WriteIntroduction(text, report);
        foreach (IGrouping<(string Scenario, int Size), MeasuredRow> cell in rows.GroupBy(CellOf))
        {
            WriteCell(text, cell.Key.Scenario, cell.Key.Size, [.. cell]);
        }

        WriteNotes(text, notes);
        WriteFacts(text, report);
        return text.ToString();
    }

    private static void WriteIntroduction(StringBuilder text, PerfReport report)
    {
        text.AppendLine(
            "Two processes for every arm. The ratio is this arm's time (PingPong: p50, Stream: time per message) over "
            + "the baseline's in the same round, the median of all rounds: below 1 is faster. The baseline is `pipe`, "
            + "a .NET named pipe, on Linux a Unix socket underneath, in the faster of its two forms. CPU, switches and "
            + "bytes are per call or message; CPU and switches of both processes together. What all of it means, and "
            + "what not: perf/README.md.").AppendLine();
        if (report.NoiseFloor is { } floor)
        {
            text.AppendLine(CultureInfo.InvariantCulture,
                $"Noise floor: the baseline against its own twin came out between {floor.Low:0.00} and "
                + $"{floor.High:0.00}. A ratio in between is no difference.").AppendLine();
        }
    }

    private static (string Scenario, int Size) CellOf(MeasuredRow row) => (row.Row.Scenario, row.Row.SizeBytes);

    private static void WriteCell(StringBuilder text, string scenario, int size, MeasuredRow[] rows)
    {
        text.AppendLine(CultureInfo.InvariantCulture, $"## {scenario}, {SizeName(size)}").AppendLine();
        text.Append("| ").AppendJoin(" | ", s_columns).AppendLine(" |");
        text.Append("|---|---|").Insert(text.Length, "---:|", s_columns.Length - 2).AppendLine();
        foreach (MeasuredRow row in rows.OrderBy(row => row.Row.Caller))
        {
            WriteRow(text, row);
        }

        MeasuredRow? baseline = rows.FirstOrDefault(row => row.Row.Arm == Fleet.Baseline);
        if (baseline is not null)
        {
            string form = baseline.Form == CallerKind.Blocking ? "blocking" : "awaiting";
            long compiled = rows.DistinctBy(row => (row.Row.Arm, row.Form)).Sum(row => row.CompiledMethods);
            text.AppendLine().AppendLine(CultureInfo.InvariantCulture,
                $"Here the {form} form of the pipe is the faster one. "
                + $"Methods compiled while the clock ran: {compiled}.");
        }

        text.AppendLine();
    }

    private static void WriteRow(StringBuilder text, MeasuredRow measured)
    {
        ReportRow row = measured.Row;
        string[] cells =
        [
            row.Arm, row.Caller.ToString().ToLowerInvariant(), Number(row.P50Us), Number(row.P99Us), Number(row.MeanUs),
            Number(row.PerSecond), Number(row.MegabytesPerSecond), Number(row.CpuUsPerCall),
            Number(measured.SwitchesPerCall), Number(row.AllocatedBytesPerCallClient),
            Number(row.AllocatedBytesPerCallServer), Number(row.Ratio),
            $"{Number(row.RatioLow)} to {Number(row.RatioHigh)}", $"{measured.RoundsWon} of {measured.Rounds}",
        ];
        text.Append("| ").AppendJoin(" | ", cells).AppendLine(" |");
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

    private static void WriteFacts(StringBuilder text, PerfReport report)
    {
        MachineFacts machine = report.Machine;
        string processor = machine.Hypervisor ? "cores, a virtual machine" : "cores";
        (string Name, string Value)[] facts =
        [
            ("date", machine.Date),
            ("commit", machine.Commit),
            ("SDK, runtime", $"{machine.Sdk}, {machine.Runtime}"),
            ("garbage collector", machine.GcMode),
            ("large objects", $"from {machine.LohThresholdBytes} bytes on, set alike in both processes of all arms"),
            ("tiered compilation", machine.TieredCompilation),
            ("kernel, system", machine.Kernel),
            ("processor", $"{machine.CpuModel}, {machine.Cores} {processor}"),
            ("clock", machine.Clocksource),
            ("load average", $"{machine.LoadAverageBefore} before, {machine.LoadAverageAfter} after"),
            ("steal", Invariant($"{machine.StealPercent:0.00} % of the time")),
            ("rounds with steal", $"{machine.RoundsWithSteal} of {machine.RoundsMeasured}; none is left out"),
            ("ring", $"{machine.RingCapacityBytes} bytes each way"),
            ("measured", Invariant($"{machine.SecondsPerRow} s a row, in {machine.Rounds} rounds")),
            ("seed", Invariant($"{report.Seed}")),
        ];
        text.AppendLine("## Machine and run").AppendLine().AppendLine("| | |").AppendLine("|---|---|");
        foreach ((string name, string value) in facts)
        {
            text.AppendLine(CultureInfo.InvariantCulture, $"| {name} | {value} |");
        }
    }

    private static string SizeName(int bytes) => bytes switch
    {
        >= 1 << 20 when bytes % (1 << 20) == 0 => $"{bytes >> 20} MiB",
        >= 1 << 10 when bytes % (1 << 10) == 0 => $"{bytes >> 10} KiB",
        _ => $"{bytes} B",
    };

    // Three digits for people: 0.457, 4.57, 45.7, 457, 4,570.
    private static string Number(double value) => value switch
    {
        0 => "0",
        < 10 => value.ToString("0.00#", CultureInfo.InvariantCulture),
        < 100 => value.ToString("0.0", CultureInfo.InvariantCulture),
        _ => value.ToString("#,0", CultureInfo.InvariantCulture),
    };

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
