using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Report;

/// <summary>The content of <c>latest.json</c>.</summary>
internal sealed record PerfReport(MachineFacts Machine, int Seed, IReadOnlyList<ReportRow> Rows)
{
    /// <summary>The figures that have something to reach.</summary>
    public IReadOnlyList<ReportBar> Bars { get; init; } = [];

    /// <summary>Findings with columns of their own.</summary>
    public IReadOnlyList<ReportTable> Tables { get; init; } = [];

    /// <summary>Findings that are a sentence.</summary>
    public IReadOnlyList<string> Notes { get; init; } = [];
}
