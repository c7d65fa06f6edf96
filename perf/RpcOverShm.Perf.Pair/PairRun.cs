using System.Diagnostics;
using System.Globalization;
using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Pair;

/// <summary>
/// Starts both builds in turn, each start with a server and a client of its own, and compares the starts of a pair: how
/// the compiler and the system place a process differs more between two starts than anything within one.
/// </summary>
internal static class PairRun
{
    // The bounds of CONTRIBUTING.md.
    private const double MostRatio = 1.05;
    private const double WidestInterval = 0.15;

    private static readonly TimeSpan s_startDeadline = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_callDeadline = TimeSpan.FromMinutes(2);

    private static int s_starts;

    public static int Explain()
    {
        Console.Error.WriteLine(
            "run NEW OLD PAIRS NEIGHBOURS [CELL...]: NEW and OLD are folders with this program for each build; "
            + "NEIGHBOURS is the number of busy processes beside them. Cells: " + string.Join(", ", PairClient.Cells));
        return 2;
    }

    public static async Task<int> MainAsync(string[] args)
    {
        if (args is not [string newer, string older, string pairsText, string neighboursText, .. string[] cells]
            || !int.TryParse(pairsText, CultureInfo.InvariantCulture, out int pairs) || pairs < 1
            || !int.TryParse(neighboursText, CultureInfo.InvariantCulture, out int neighbours) || neighbours < 0
            || cells.Except(PairClient.Cells).Any())
        {
            return Explain();
        }

        cells = cells.Length == 0 ? [.. PairClient.Cells] : cells;
        string[] folders = [newer, older];
        List<double>[] times = [.. Enumerable.Range(0, 2 * cells.Length).Select(_ => new List<double>())];
        double[] worst = new double[2 * cells.Length];
        List<Process> busy = [];
        try
        {
            for (int i = 0; i < neighbours; i++)
            {
                busy.Add(await StartAsync(newer, "spin"));
            }

            for (int pair = 0; pair < pairs; pair++)
            {
                // Which one goes first alternates.
                for (int turn = 0; turn < 2; turn++)
                {
                    int build = (pair + turn) % 2;
                    int index = build * cells.Length;
                    foreach ((double time, double slowest) in await RunAsync(folders[build], cells))
                    {
                        times[index].Add(time);
                        worst[index] = Math.Max(worst[index], slowest);
                        index++;
                    }
                }

                Console.Error.WriteLine($"pair {pair + 1} of {pairs}");
            }
        }
        finally
        {
            foreach (Process process in busy)
            {
                await EndAsync(process);
            }
        }

        Report(cells, times, worst, neighbours);
        return 0;
    }

    private static void Report(string[] cells, List<double>[] times, double[] worst, int neighbours)
    {
        string beside = neighbours == 0 ? "quiet" : $"beside {neighbours} busy";
        Console.WriteLine($"\n{times[0].Count} pairs, {beside}, microseconds\n");
        Console.WriteLine("| cell | new | old | new to old | 95 % | within the noise | worst round, new | old |");
        Console.WriteLine("|---|---|---|---|---|---|---|---|");
        for (int i = 0; i < cells.Length; i++)
        {
            List<double> newer = times[i];
            List<double> older = times[cells.Length + i];
            var ratio = Ratio.Of(newer, older);
            bool isWithin = ratio.Median <= MostRatio
                || (ratio is { Low: <= 1 and > 1 - WidestInterval, High: >= 1 and < 1 + WidestInterval });
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"| {cells[i]} | {Ratio.MedianOf(newer):0.00} | {Ratio.MedianOf(older):0.00} | {ratio.Median:0.000} "
                + $"| {ratio.Low:0.000} to {ratio.High:0.000} | {(isWithin ? "yes" : "NO")} "
                + $"| {worst[i]:0.0} | {worst[cells.Length + i]:0.0} |"));
        }
    }

    private static async Task<List<(double Time, double Slowest)>> RunAsync(string folder, string[] cells)
    {
        string address = $"shm://pair-{Environment.ProcessId}-{++s_starts}";
        Process server = await StartAsync(folder, "serve", address);
        using Process client = Launch(folder, ["call", address, .. cells]);
        try
        {
            var found = new List<(double, double)>();
            for (int i = 0; i < cells.Length; i++)
            {
                string[] words = (await ReadLineAsync(client, s_callDeadline)).Split(' ');
                found.Add((
                    double.Parse(words[1], CultureInfo.InvariantCulture),
                    double.Parse(words[2], CultureInfo.InvariantCulture)));
            }

            return found;
        }
        finally
        {
            await EndAsync(client);
            await EndAsync(server);
        }
    }

    private static async Task<Process> StartAsync(string folder, params string[] arguments)
    {
        Process process = Launch(folder, arguments);
        string line = await ReadLineAsync(process, s_startDeadline);
        return line == PairServer.Ready ? process : throw new InvalidDataException($"The process said '{line}'.");
    }

    private static Process Launch(string folder, params string[] arguments)
    {
        var info = new ProcessStartInfo("dotnet", [Path.Combine(folder, "RpcOverShm.Perf.Pair.dll"), .. arguments])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        return Process.Start(info)!;
    }

    private static async Task<string> ReadLineAsync(Process process, TimeSpan longest)
    {
        using var deadline = new CancellationTokenSource(longest);
        return await process.StandardOutput.ReadLineAsync(deadline.Token)
            ?? throw new InvalidDataException("A process has ended before its answer.");
    }

    // It ends with its standard input, which also ends if this process dies.
    private static async Task EndAsync(Process process)
    {
        process.StandardInput.Close();
        using var deadline = new CancellationTokenSource(s_startDeadline);
        try
        {
            await process.WaitForExitAsync(deadline.Token);
        }
        catch (OperationCanceledException)
        {
            process.Kill();
        }

        process.Dispose();
    }
}
