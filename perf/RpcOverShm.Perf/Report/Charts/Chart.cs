namespace RpcOverShm.Perf.Report.Charts;

/// <summary>Lines over two logarithmic axes.</summary>
/// <param name="Title">The heading.</param>
/// <param name="Note">What a reader should know.</param>
/// <param name="XName">What the horizontal axis is.</param>
/// <param name="YName">What the vertical axis is.</param>
/// <param name="XLabel">How a value of the horizontal axis is written.</param>
/// <param name="Series">The lines.</param>
internal sealed record Chart(
    string Title,
    string Note,
    string XName,
    string YName,
    Func<double, string> XLabel,
    IReadOnlyList<ChartSeries> Series);

/// <summary>One line of a chart.</summary>
/// <param name="Name">The arm.</param>
/// <param name="Points">From left to right, all above 0.</param>
internal sealed record ChartSeries(string Name, IReadOnlyList<(double X, double Y)> Points);
