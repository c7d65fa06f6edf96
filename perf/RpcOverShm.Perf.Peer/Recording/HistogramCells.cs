namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>A <see cref="LatencyHistogram"/> on its way between processes.</summary>
/// <param name="IndexesAndCounts">The index of each cell that is not empty, followed by its count.</param>
/// <param name="Count">How many values there are.</param>
/// <param name="Sum">Their sum.</param>
/// <param name="Max">The largest of them.</param>
internal sealed record HistogramCells(long[] IndexesAndCounts, long Count, long Sum, long Max);
