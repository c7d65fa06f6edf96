namespace RpcOverShm.Perf.Report.Charts;

/// <summary>One line of a chart.</summary>
/// <param name="Name">The arm.</param>
/// <param name="Points">From left to right, all above 0.</param>
internal sealed record ChartSeries(string Name, IReadOnlyList<(double X, double Y)> Points);
