using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Report;

/// <summary>The content of <c>latest.json</c>.</summary>
internal sealed record PerfReport(MachineFacts Machine, int Seed, IReadOnlyList<ReportRow> Rows)
{
    private static readonly JsonSerializerOptions s_options = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        Converters = { new JsonStringEnumConverter() },
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        WriteIndented = true,
    };

    /// <summary>The figures with a goal.</summary>
    public IReadOnlyList<ReportBar> Bars { get; init; } = [];

    /// <summary>Findings with columns of their own.</summary>
    public IReadOnlyList<ReportTable> Tables { get; init; } = [];

    /// <summary>Findings that are a sentence.</summary>
    public IReadOnlyList<string> Notes { get; init; } = [];

    public string ToJson() => JsonSerializer.Serialize(this, s_options) + "\n";
}

/// <summary>
/// The further figures of a row on a schedule. The row's percentiles count from the intended start of each call, these
/// from the actual start.
/// </summary>
/// <param name="OfferedPerSecond">The rate of the schedule.</param>
/// <param name="MissedRate">True if the arm did not keep up: its times then grow with the length of the run.</param>
/// <param name="UncorrectedP50Us">The median by a clock that starts when the call does.</param>
/// <param name="UncorrectedP99Us">The same.</param>
internal sealed record ReportSchedule(
    long OfferedPerSecond, bool MissedRate, double UncorrectedP50Us, double UncorrectedP99Us)
{
    /// <summary>Below this share of the schedule's rate, the rate was missed.</summary>
    public const double LeastShareMet = 0.97;
}

/// <summary>Findings that have columns of their own. The first column is text, the others are numbers.</summary>
/// <param name="Title">The heading.</param>
/// <param name="Note">The explanation for the reader.</param>
/// <param name="Columns">The headings of the columns.</param>
/// <param name="Rows">Each with as many cells as there are columns.</param>
internal sealed record ReportTable(
    string Title, string Note, IReadOnlyList<string> Columns, IReadOnlyList<IReadOnlyList<string>> Rows);

/// <summary>The interval of the baseline's twin in one cell. A ratio of that cell within it is no difference.</summary>
internal sealed record Noise(double Low, double High);
