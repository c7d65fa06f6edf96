namespace RpcOverShm.Perf.Report;

/// <summary>
/// What a row on a schedule tells besides: its percentiles are from the intended start of each call, these from the
/// actual one.
/// </summary>
/// <param name="OfferedPerSecond">The pace of the schedule.</param>
/// <param name="MissedRate">True when the arm did not keep up: its times then grow with the length of the run.</param>
/// <param name="UncorrectedP50Us">What a clock shows that starts when the call does.</param>
/// <param name="UncorrectedP99Us">The same.</param>
internal sealed record ReportSchedule(
    long OfferedPerSecond, bool MissedRate, double UncorrectedP50Us, double UncorrectedP99Us)
{
    /// <summary>Below this share of the pace, the rate was missed.</summary>
    public const double LeastShareMet = 0.97;
}
