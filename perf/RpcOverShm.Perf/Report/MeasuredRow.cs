namespace RpcOverShm.Perf.Report;

/// <summary>A row with what only the table for people tells.</summary>
internal sealed record MeasuredRow
{
    public required ReportRow Row { get; init; }

    /// <summary>The name of its cell within the scenario.</summary>
    public required string Cell { get; init; }

    /// <summary>
    /// Which form of the arm was measured: of the baseline it is the faster one, whatever the caller.
    /// </summary>
    public required CallerKind Form { get; init; }

    public required int RoundsWon { get; init; }

    public required int Rounds { get; init; }

    /// <summary>Voluntary context switches of both processes per call.</summary>
    public required double SwitchesPerCall { get; init; }

    /// <summary>Methods compiled while the clock ran; anything but a few says that the warm-up was too short.</summary>
    public required long CompiledMethods { get; init; }
}
