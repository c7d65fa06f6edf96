using System.Globalization;
using RpcOverShm.Protocol;
using RpcOverShm.Tool.Output;
using Spectre.Console;
using Spectre.Console.Rendering;

namespace RpcOverShm.Tool.Top;

/// <summary>Shows the load of a server's connections as a table or as JSON.</summary>
internal sealed class TopView(string address, int processId, StatisticsPage page, IReadOnlyList<ConnectionLoad> loads)
{
    /// <summary>Whether the server has written nothing since the last look, as if it were stopped.</summary>
    public bool IsStale { get; init; }

    private const double P50 = 50;
    private const double P99 = 99;

    // Narrower terminals get the first columns only.
    private const int WidthOfAll = 100;
    private const int WidthOfSome = 70;

    private static readonly Column[] s_columns =
    [
        new("CLIENT", 0, load => $"{load.Now.ProcessId}", WidthOfSome),
        new("CLIENT", WidthOfSome, load => NameOf(load.Now.ProcessId)),
        new("CALLS/S", 0, load => Number(load.CallsPerSecond)),
        new("ACTIVE", 0, load => Number(load.Now.InFlight)),
        new("P50", 0, load => Time(load.LatencyAt(P50))),
        new("P99", 0, load => Time(load.LatencyAt(P99))),
        new("WAITING", WidthOfSome, load => Number(load.Now.Queued)),
        new("RING IN", WidthOfSome, load => Share(load.Now.UnreadByServer, load.Now.ClientRing)),
        new("RING OUT", WidthOfSome, load => Share(load.Now.UnreadByClient, load.Now.ServerRing)),
        new("WAKES/S", WidthOfAll, load => Number(load.WakeUpsPerSecond)),
        new("STALLS/S", WidthOfAll, load => Number(load.StallsPerSecond)),
        new("UNSENT", WidthOfAll, load => Number(load.Now.UnsentResponses)),
        new("KEPT", WidthOfAll, load => Bytes(load.Now.KeptBytes)),
    ];

    /// <summary>Returns a line about the server and a table of its connections, for a terminal of this width.</summary>
    public IRenderable ToText(int width)
    {
        Column[] columns = [.. s_columns.Where(column => column.FromWidth <= width && width < column.BelowWidth)];
        Table table = new Table().Border(TableBorder.None);
        foreach (Column column in columns)
        {
            var made = new TableColumn(column.Name);
            table.AddColumn(column.Name == "CLIENT" ? made : made.RightAligned().NoWrap());
        }

        foreach (ConnectionLoad load in loads)
        {
            table.AddRow([.. columns.Select(column => Markup.Escape(ToolConsole.Visible(column.Text(load))))]);
        }

        int hidden = page.Connections - loads.Count;
        return new Rows(
            new Text(Title()), table, new Text(hidden > 0 ? $"and {Number(hidden)} more connections" : ""));
    }

    /// <summary>Returns one line of JSON. Latencies are in microseconds.</summary>
    public string ToJson() => JsonText.Of(new
    {
        Address = address,
        ProcessId = processId,
        page.Connections,
        IsStale,
        CallsPerSecond = Round(loads.Sum(load => load.CallsPerSecond)),
        Clients = loads.Select(load => new
        {
            load.Now.Session,
            load.Now.ProcessId,
            load.Now.UserId,
            CallsPerSecond = Round(load.CallsPerSecond),
            load.Now.InFlight,
            load.Now.Queued,
            load.Now.UnsentResponses,
            load.Now.KeptBytes,
            load.Now.UnreadByServer,
            load.Now.UnreadByClient,
            load.Now.ClientRing,
            load.Now.ServerRing,
            WakeUpsPerSecond = Round(load.WakeUpsPerSecond),
            StallsPerSecond = Round(load.StallsPerSecond),
            load.Samples,
            P50Us = Microseconds(load.LatencyAt(P50)),
            P99Us = Microseconds(load.LatencyAt(P99)),
        }),
    });

    private string Title() => ToolConsole.Visible(
        $"{address}, process {processId}: {page.Connections} {(page.Connections == 1 ? "connection" : "connections")}, "
        + (IsStale
            ? "no news since the last look: is the process stopped?"
            : $"{Number(loads.Sum(load => load.CallsPerSecond))} calls/s"));

    private static string NameOf(long processId) =>
        processId <= int.MaxValue && ProcessName.Of((int)processId) is { } name
            ? $"{processId} {name}"
            : $"{processId}";

    private static string Time(double? nanoseconds) => nanoseconds is { } time ? Latency.Text(time) : "-";

    private static double? Microseconds(double? nanoseconds) =>
        nanoseconds is { } time ? Latency.Microseconds(time) : null;

    private static string Number(double number) => number.ToString("#,0", CultureInfo.InvariantCulture);

    private static double Round(double number) => Math.Round(number, 1);

    private static string Share(long used, long all) =>
        all <= 0 ? "-" : (100.0 * used / all).ToString("0", CultureInfo.InvariantCulture) + " %";

    private static string Bytes(long bytes) => bytes switch
    {
        < 1 << 10 => $"{bytes} B",
        < 1 << 20 => $"{bytes >> 10} KiB",
        _ => $"{bytes >> 20} MiB",
    };

    private sealed record Column(
        string Name, int FromWidth, Func<ConnectionLoad, string> Text, int BelowWidth = int.MaxValue);
}
