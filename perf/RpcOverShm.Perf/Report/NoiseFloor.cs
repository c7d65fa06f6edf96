namespace RpcOverShm.Perf.Report;

/// <summary>
/// Between which ratios the baseline's twin was found, over all cells of closed loops: a ratio within is no difference.
/// The row of the twin has the interval of one cell.
/// </summary>
internal sealed record NoiseFloor(double Low, double High);
