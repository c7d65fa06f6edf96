using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Report;

/// <summary>
/// One row of <c>latest.json</c>. Its names and their meaning are a contract, which perf/README.md states.
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

    /// <summary>Distinguishes cells of the same size; empty for the plain one.</summary>
    public string Variant { get; init; } = "";

    /// <summary>The size of an answer.</summary>
    public int ReplyBytes { get; init; }

    /// <summary>Client processes at the same time.</summary>
    public int Clients { get; init; } = 1;

    public double P90Us { get; init; }

    public double P999Us { get; init; }

    public double MaxUs { get; init; }

    /// <summary>Null, and left out, for a closed loop.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public ReportSchedule? Schedule { get; init; }
}

/// <summary>A row with the figures that only the table for people has.</summary>
internal sealed record MeasuredRow
{
    public required ReportRow Row { get; init; }

    /// <summary>The name of its cell within the scenario.</summary>
    public required string Cell { get; init; }

    /// <summary>The form of the arm that was measured; for the baseline the faster one, with any caller.</summary>
    public required CallerKind Form { get; init; }

    public required int RoundsWon { get; init; }

    public required int Rounds { get; init; }

    /// <summary>Voluntary context switches of both processes per call.</summary>
    public required double SwitchesPerCall { get; init; }

    /// <summary>Methods compiled while the clock ran; more than a few mean that the warm-up was too short.</summary>
    public required long CompiledMethods { get; init; }
}
