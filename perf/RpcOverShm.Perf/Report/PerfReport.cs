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

/// <summary>Findings that have columns of their own. The first column is text, the others are numbers.</summary>
/// <param name="Title">The heading.</param>
/// <param name="Note">What a reader must know first.</param>
/// <param name="Columns">The headings of the columns.</param>
/// <param name="Rows">Each with as many cells as there are columns.</param>
internal sealed record ReportTable(
    string Title, string Note, IReadOnlyList<string> Columns, IReadOnlyList<IReadOnlyList<string>> Rows);

/// <summary>
/// The ratios between which the baseline's twin was found in one cell. A ratio of that cell in between is no
/// difference.
/// </summary>
internal sealed record Noise(double Low, double High);
