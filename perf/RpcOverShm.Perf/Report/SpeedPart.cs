namespace RpcOverShm.Perf.Report;

/// <summary>
/// The headline: three sentences, and figures of the product beside those of its rivals, the last from the cell in
/// which it does worst. The README of the repository quotes it from the newest report, and a test compares the two.
/// </summary>
internal static class SpeedPart
{
    private const string Silence = "after 10 ms of silence";

    // In the other scenarios a call waits for a schedule, or after a silence, so that a rate says little.
    private static readonly Dictionary<string, string> s_closedLoops = new()
    {
        ["PingPong"] = "calls",
        ["RequestResponse"] = "calls with larger answers",
        ["Stream"] = "messages of a server stream",
        ["BlockSweep"] = "blocks of a server stream",
        ["OneWayPump"] = "messages that clients push to a server",
        ["Broadcast"] = "messages of a server to many clients",
    };

    private static readonly (string Name, string Arm)[] s_columns =
    [
        ("RpcOverShm", "shm-protobuf"), ("named pipe", "pipe"), ("grpc-dotnet", "grpc-dotnet-uds"),
        ("gRPC C core", "grpc-core-uds"),
    ];

    private static readonly string[] s_explanation =
    [
        "Times are medians. RpcOverShm and gRPC run the same client and service, gRPC over a Unix socket;",
        "the pipe carries bytes without RPC, with a connection for each caller.",
    ];

    // The sentences above the table have it.
    private static readonly Figure s_call = new("blocking call of 100 B, µs", "PingPong", 100, CallerKind.Blocking);

    private static readonly Figure[] s_figures =
    [
        new("awaited call of 100 B, µs", "PingPong", 100, CallerKind.Async),
        new("blocking call of 1 MiB, µs", "PingPong", 1 << 20, CallerKind.Blocking),
        new($"blocking call of 100 B {Silence}, µs", "IdleGap", 100, CallerKind.Blocking) { Variant = Silence },
        new("64 awaiting callers of 1 KiB, calls/s", "PingPong", 1 << 10, CallerKind.Async) { Callers = 64 },
        new("server stream of 1 KiB, messages/s", "Stream", 1 << 10, CallerKind.Async),
    ];

    public static ReportPart Of(PerfReport report, IReadOnlyList<MeasuredRow> measured)
    {
        double[][] values =
            [.. s_figures.Select(figure => s_columns.Select(column => figure.In(report, column.Arm)).ToArray())];
        string[][] rows =
        [
            .. s_figures.Zip(values).Where(row => row.Second[0] > 0)
                .Select(row => (string[])[row.First.Name, .. row.Second.Select(Say)]),
            .. WeakestPart.OfScenarios(measured).Where(row => s_closedLoops.ContainsKey(row.Row.Scenario))
                .OrderBy(row => row.Row.Ratio)
                .TakeLast(1).Select(row => RowOf(row, measured)),
        ];
        (string Name, string Arm, double Us)[] calls =
        [
            .. s_columns.Select(column => (column.Name, column.Arm, Us: s_call.In(report, column.Arm)))
                .Where(call => call.Us > 0),
        ];
        string[] below =
        [
            .. s_explanation,
            .. report.Notes.Where(IsOfIdleProduct)
                .Select(note => note.Replace($" of {s_columns[0].Arm}", "", StringComparison.Ordinal)),
        ];
        return new ReportPart("Speed", string.Join('\n', [.. Sentences(calls), MachineSentence(report.Machine)]))
        {
            Below = rows.Length == 0 ? "" : string.Join('\n', below),
            Bars = calls,
            Columns = rows.Length == 0 ? [] : ["", .. s_columns.Select(column => column.Name)],
            Rows = rows,
        };
    }

    // Its name says if it is not the form of the other rows.
    private static string[] RowOf(MeasuredRow weakest, IReadOnlyList<MeasuredRow> measured)
    {
        ReportRow row = weakest.Row;
        string form = row.Arm == s_columns[0].Arm ? "" : ", as raw bytes";
        IEnumerable<double> rates = s_columns.Select((column, i) => measured
            .Where(other => other.Row.Scenario == row.Scenario && other.Cell == weakest.Cell)
            .Where(other => other.Row.Arm == (i == 0 ? row.Arm : column.Arm))
            .Select(other => other.Row.PerSecond).DefaultIfEmpty().Max());
        string name = $"where it is weakest: {s_closedLoops[row.Scenario]}, {weakest.Cell}{form}, per second";
        return [name, .. rates.Select(Say)];
    }

    private static IEnumerable<string> Sentences((string Name, string Arm, double Us)[] calls)
    {
        if (calls.Length > 1 && calls[0].Arm == s_columns[0].Arm)
        {
            yield return $"A blocking call of 100 B to another process and back takes {Say(calls[0].Us)} µs.";
            string others = string.Join(", ", calls.Skip(1).Select(call => $"{call.Name} {Say(call.Us)} µs"));
            yield return $"The same call takes longer elsewhere: {others}.";
        }
    }

    private static string MachineSentence(MachineFacts machine) => string.Create(
        CultureInfo.InvariantCulture,
        $"Measured on {machine.Date}: {machine.CpuModel}, {machine.Cores} cores"
        + $"{(machine.Hypervisor ? " of a virtual machine" : "")}, {machine.Runtime}, commit {machine.Commit}.");

    private static bool IsOfIdleProduct(string note) =>
        note.StartsWith($"An idle connection of {s_columns[0].Arm}", StringComparison.Ordinal);

    // Three digits, of large numbers too.
    private static string Say(double value)
    {
        double unit = Math.Pow(10, Math.Max(0, Math.Floor(Math.Log10(Math.Max(1, value))) - 2));
        return value == 0 ? "–" : Format.Number(value < 100 ? value : Math.Round(value / unit) * unit);
    }

    /// <summary>One figure of an arm: calls a second if the name ends with "/s", else the median time.</summary>
    private sealed record Figure(string Name, string Scenario, int SizeBytes, CallerKind Caller)
    {
        public int Callers { get; init; } = 1;

        public string Variant { get; init; } = "";

        /// <summary>Returns 0 if the arm was not measured there.</summary>
        public double In(PerfReport report, string arm)
        {
            ReportRow? found = report.Rows.FirstOrDefault(row =>
                row.Arm == arm && row.Scenario == Scenario && row.SizeBytes == SizeBytes && row.Caller == Caller
                && row.Callers == Callers && row.Variant == Variant);
            return (Name.EndsWith("/s", StringComparison.Ordinal) ? found?.PerSecond : found?.P50Us) ?? 0;
        }
    }
}
