namespace RpcOverShm.Perf.Report;

/// <summary>
/// The ratios between which the baseline's twin was found in one cell. A ratio of that cell in between is no
/// difference.
/// </summary>
internal sealed record Noise(double Low, double High);
