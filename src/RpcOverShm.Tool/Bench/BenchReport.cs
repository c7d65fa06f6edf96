using System.Globalization;
using Grpc.Core;
using RpcOverShm.Tool.Output;
using Spectre.Console;

namespace RpcOverShm.Tool.Bench;

/// <summary>Shows the result of a benchmark: its figures and a picture of the distribution, or JSON.</summary>
internal sealed class BenchReport(string address, string method, BenchPlan plan, int connections, BenchResult result)
{
    private const int MostBarColumns = 40;
    private const int OtherColumns = 26; // of a row of the picture: the bound and the count

    private static readonly (string Name, double Percentage)[] s_percentiles =
        [("p50", 50), ("p75", 75), ("p90", 90), ("p95", 95), ("p99", 99), ("p99.9", 99.9), ("p99.99", 99.99)];

    // A power of ten in three parts.
    private static readonly double[] s_steps = [1, 2, 5];

    private static readonly long[] s_bounds =
    [
        .. Enumerable.Range(3, 10).SelectMany(power => s_steps.Select(step => (long)(step * Math.Pow(10, power)))),
        long.MaxValue,
    ];

    private double PerSecond =>
        result.Elapsed > TimeSpan.Zero ? result.Succeeded / result.Elapsed.TotalSeconds : 0;

    /// <summary>Writes the report as text.</summary>
    public void WriteTo(ToolConsole console)
    {
        console.WriteLine(ToolConsole.Visible($"{method} of {address}"));
        console.WriteLine(Load());
        console.WriteLine("");
        Table figures = NewTable().AddColumns("", "");
        figures.Columns[1].RightAligned();
        figures.AddRow("calls", $"{Number(result.Succeeded)}");
        figures.AddRow("a second", $"{Number((long)PerSecond)}");
        AddIf(figures, "failed", result.Failed, "red");
        AddIf(figures, "other answers", result.Different, "yellow");
        AddIf(figures, "could not begin", result.NotBegun, "yellow");
        if (result.Succeeded > 0)
        {
            figures.AddEmptyRow();
            figures.AddRow("mean", Latency.Text(result.Mean));
            foreach ((string name, double percentage) in s_percentiles)
            {
                figures.AddRow(name, Latency.Text(result.AtPercentile(percentage)));
            }

            figures.AddRow("longest", Latency.Text(result.Longest));
        }

        console.Write(figures);
        WritePicture(console);
        WriteFailures(console);
    }

    /// <summary>Returns the report as JSON. Times are in microseconds.</summary>
    public string ToJson() => JsonText.Of(new
    {
        Address = address,
        Method = method,
        plan.Callers,
        Connections = connections,
        plan.Rate,
        Seconds = Math.Round(result.Elapsed.TotalSeconds, 3),
        Calls = result.Succeeded,
        PerSecond = Math.Round(PerSecond, 1),
        result.Failed,
        OtherAnswers = result.Different,
        result.NotBegun,
        LatencyUs = result.Succeeded == 0 ? null : s_percentiles
            .Select(one => KeyValuePair.Create(one.Name, Latency.Microseconds(result.AtPercentile(one.Percentage))))
            .Prepend(KeyValuePair.Create("mean", Latency.Microseconds(result.Mean)))
            .Append(KeyValuePair.Create("longest", Latency.Microseconds(result.Longest)))
            .ToDictionary(),
        Distribution = Distribution().Select(
            one => new { UpToUs = Latency.Microseconds(one.UpTo), one.Count }),
        Failures = result.ByStatus.Select(
            one => new { Status = StatusNames.Of(one.Status), one.Count, one.Example }),
    });

    private string Load()
    {
        string seconds = result.Elapsed.TotalSeconds.ToString("0.0", CultureInfo.InvariantCulture);
        string load = plan.Rate is { } rate
            ? $"{Number((long)rate)} calls a second, at most {Count(plan.Callers, "call")} at a time"
            : Count(plan.Callers, "caller");
        return $"{load}, {Count(connections, "connection")}, {seconds} s";
    }

    private void WritePicture(ToolConsole console)
    {
        (long UpTo, long Count)[] rows = [.. Distribution()];
        if (rows.Length == 0)
        {
            return;
        }

        long most = rows.Max(one => one.Count);
        int columns = Math.Clamp(console.Width - OtherColumns, 1, MostBarColumns);
        Table picture = NewTable().AddColumns("", "", "");
        picture.Columns[0].RightAligned().NoWrap();
        picture.Columns[2].RightAligned().NoWrap();
        foreach ((long upTo, long count) in rows)
        {
            // What occurred is seen, however rare it is.
            int length = (int)Math.Ceiling((double)count * columns / most);
            picture.AddRow(
                new Text($"≤ {Latency.Text(upTo)}"),
                new Text(new string('■', length), new Style(Color.Green)),
                new Text(count == 0 ? "" : Number(count)));
        }

        console.WriteLine("");
        console.Write(picture);
    }

    // From the bound of the shortest latency to that of the longest.
    private IEnumerable<(long UpTo, long Count)> Distribution()
    {
        var counts = new SortedDictionary<long, long>();
        foreach ((long nanoseconds, long count) in result.Latencies())
        {
            long bound = s_bounds.First(one => nanoseconds <= one);
            counts[bound] = counts.GetValueOrDefault(bound) + count;
        }

        return counts.Count == 0
            ? []
            : s_bounds.Where(one => one >= counts.Keys.First() && one <= counts.Keys.Last())
                .Select(one => (one, counts.GetValueOrDefault(one)));
    }

    private void WriteFailures(ToolConsole console)
    {
        foreach ((StatusCode status, long count, string example) in result.ByStatus)
        {
            console.WriteError($"{Number(count)} failed with {StatusNames.Of(status)}, such as: {example}");
        }

        if (result.NotBegun > 0)
        {
            console.WriteNote(
                $"{Number(result.NotBegun)} calls were due and could not begin, because {plan.Callers} were running: "
                + "their latencies are missing above. Lower --rps, or raise --concurrency.");
        }

        if (result.Different > 0)
        {
            console.WriteNote(
                $"{Number(result.Different)} calls had other answers than the first one; --expect-same makes that a "
                + "failure.");
        }
    }

    private static Table NewTable() => new Table().Border(TableBorder.None).HideHeaders();

    private static void AddIf(Table table, string name, long count, string colour)
    {
        if (count > 0)
        {
            table.AddRow(name, $"[{colour}]{Number(count)}[/]");
        }
    }

    private static string Number(long number) => number.ToString("#,0", CultureInfo.InvariantCulture);

    private static string Count(int number, string what) => number == 1 ? $"1 {what}" : $"{Number(number)} {what}s";
}
