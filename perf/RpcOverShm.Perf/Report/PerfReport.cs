using RpcOverShm.Perf.Peers;
using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Report;

/// <summary>What <c>latest.json</c> holds.</summary>
internal sealed record PerfReport(MachineFacts Machine, int Seed, NoiseFloor? NoiseFloor, IReadOnlyList<ReportRow> Rows)
{
    /// <summary>What has something to reach.</summary>
    public IReadOnlyList<ReportBar> Bars { get; init; } = [];

    /// <summary>Findings with columns of their own.</summary>
    public IReadOnlyList<ReportTable> Tables { get; init; } = [];

    /// <summary>Findings that are a sentence.</summary>
    public IReadOnlyList<string> Notes { get; init; } = [];

    public static PerfReport Of(MachineFacts machine, int seed, IReadOnlyList<ReportRow> rows)
    {
        ReportRow[] twins = [.. rows.Where(row => row.Arm == Fleet.BaselineAgain && row.Schedule is null)];
        NoiseFloor? floor = twins.Length == 0
            ? null
            : new NoiseFloor(twins.Min(row => row.RatioLow), twins.Max(row => row.RatioHigh));
        return new PerfReport(machine, seed, floor, rows);
    }
}
