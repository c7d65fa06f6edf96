using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Report;

/// <summary>
/// One row of <c>latest.json</c>. Its names and their meaning are a contract: perf/README.md tells them.
/// </summary>
internal sealed record ReportRow
{
    public required string Scenario { get; init; }

    public required string Arm { get; init; }

    public required CallerKind Caller { get; init; }

    public required int Callers { get; init; }

    public required int SizeBytes { get; init; }

    public required double P50Us { get; init; }

    public required double P99Us { get; init; }

    public required double MeanUs { get; init; }

    public required double PerSecond { get; init; }

    public required double MegabytesPerSecond { get; init; }

    public required double CpuUsPerCall { get; init; }

    public required double AllocatedBytesPerCallClient { get; init; }

    public required double AllocatedBytesPerCallServer { get; init; }

    public required string BaselineArm { get; init; }

    public required double Ratio { get; init; }

    public required double RatioLow { get; init; }

    public required double RatioHigh { get; init; }
}
