using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tool.Top;

/// <summary>The load of one connection between two looks at the statistics of its server.</summary>
internal sealed class ConnectionLoad
{
    private readonly long[] _latencies;
    private readonly double _seconds;
    private readonly StatisticsRow _before;

    private ConnectionLoad(ConnectionStatistics before, ConnectionStatistics now, double seconds)
    {
        _before = before.Figures;
        Now = now.Figures;
        _seconds = seconds;
        _latencies = [.. now.Latencies.Zip(before.Latencies, (one, other) => Math.Max(0, one - other))];
    }

    /// <summary>The figures at the second look.</summary>
    public StatisticsRow Now { get; }

    public double CallsPerSecond => PerSecond(Now.Calls, _before.Calls);

    public double WakeUpsPerSecond => PerSecond(Now.WakeUps, _before.WakeUps);

    public double StallsPerSecond => PerSecond(Now.Stalls, _before.Stalls);

    /// <summary>The calls whose latency was measured.</summary>
    public double Samples => _latencies.Sum(static count => (double)count);

    /// <summary>Returns the loads between two looks, the busiest first.</summary>
    public static IReadOnlyList<ConnectionLoad> Between(StatisticsPage before, StatisticsPage now)
    {
        double seconds = Math.Max((now.Time - before.Time) / 1e9, 1e-3);
        Dictionary<long, ConnectionStatistics> known = [];
        foreach (ConnectionStatistics row in before.Rows)
        {
            known[row.Figures.Session] = row;
        }

        long last = known.Count == 0 ? 0 : known.Keys.Max();
        return
        [
            .. now.Rows
                .Select(row => new ConnectionLoad(
                    known.GetValueOrDefault(row.Figures.Session) ?? Unknown(row, last), row, seconds))
                .OrderByDescending(load => load.CallsPerSecond).ThenBy(load => load.Now.Session),
        ];
    }

    /// <summary>Returns the latency that a percentage of the measured calls do not exceed, in nanoseconds.</summary>
    public double? LatencyAt(double percentage)
    {
        double rank = Math.Ceiling(Samples * percentage / 100);
        long seen = 0;
        foreach ((int cell, long count) in _latencies.Index())
        {
            seen += count;
            if (count > 0 && seen >= rank)
            {
                return LatencyCounts.MiddleOf(cell);
            }
        }

        return null;
    }

    // A connection that has begun meanwhile has made all its calls meanwhile. One that was there without figures,
    // behind those that have a row, counts from now on.
    private static ConnectionStatistics Unknown(ConnectionStatistics row, long last) =>
        row.Figures.Session > last ? new ConnectionStatistics(default, new long[row.Latencies.Length]) : row;

    private double PerSecond(long now, long before) => Math.Max(0, now - before) / _seconds;
}
