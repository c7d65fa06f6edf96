namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// A goal for a figure of one run, and a better one to aim at: reported with its interval, asserted on demand only.
/// </summary>
/// <param name="Figure">The name in the report.</param>
/// <param name="Kind">The way in which a value meets the bar.</param>
/// <param name="Of">The arm it is about.</param>
/// <param name="Limit">The bar.</param>
/// <param name="Aim">The better goal.</param>
internal sealed record Bar(string Figure, BarKind Kind, BarArm Of, double Limit, double Aim)
{
    /// <summary>The cell in which it is measured; null for all cells of the scenario within the limits below.</summary>
    public string? Cell { get; init; }

    /// <summary>The smallest message that it applies to; null for any, and for mixed sizes.</summary>
    public int? SmallestBytes { get; init; }

    /// <summary>The largest message that it applies to; null for any.</summary>
    public int? LargestBytes { get; init; }

    /// <summary>The most callers that it applies to; null for any.</summary>
    public int? MostCallers { get; init; }

    /// <summary>The arm it is about where that one is the faster of both; null for none.</summary>
    public BarArm? Or { get; init; }

    /// <summary>The arm it is compared with.</summary>
    public BarArm? Against { get; init; }

    /// <summary>Selects the value of a round; null for the time that the cell compares.</summary>
    public Func<RoundFigures, double>? Measure { get; init; }

    /// <summary>The part of the value that does not count.</summary>
    public double Offset { get; init; }

    /// <summary>The unit of a value without a comparison.</summary>
    public string Unit { get; init; } = "";

    public BarAcross Across { get; init; }

    /// <summary>A cost that is at most so many times another arm's.</summary>
    public static Bar AtMostTimes(double limit, double aim, string figure, BarArm of, BarArm against) =>
        new(figure, BarKind.AtMostTimes, of, limit, aim) { Against = against };

    /// <summary>A cost that another arm's exceeds at least so many times.</summary>
    public static Bar TimesBetter(double limit, double aim, string figure, BarArm of, BarArm against) =>
        new(figure, BarKind.TimesBetter, of, limit, aim) { Against = against };

    /// <summary>
    /// Protobuf, or payloads where those are faster, in the faster form, against the pipe in its faster form: in the
    /// worst of a scenario's cells.
    /// </summary>
    public static Bar NeverSlowerThanThePipe(string scenario) =>
        TimesBetter(
            1, 2, $"{scenario}, every cell, faster than the named pipe", new BarArm("shm-protobuf"),
            new BarArm(Fleet.Baseline)) with
        {
            Or = new BarArm("shm-payload"),
            Across = BarAcross.Worst,
        };

    /// <summary>Managed bytes of a call that are at most so many.</summary>
    public static Bar AtMostBytes(
        double limit, double aim, string figure, BarArm of, Func<RoundFigures, double> measure, double offset = 0) =>
        new(figure, BarKind.AtMost, of, limit, aim) { Measure = measure, Offset = offset, Unit = "B" };

    /// <summary>Calls or messages a second that are at least so many.</summary>
    public static Bar AtLeastPerSecond(double limit, double aim, string figure, BarArm of, string unit) =>
        new(figure, BarKind.AtLeast, of, limit, aim) { Measure = round => 1e6 / round.PerMessageUs, Unit = unit };

    /// <summary>The same bars, measured in one cell.</summary>
    public static IEnumerable<Bar> In(string cell, params IEnumerable<Bar> bars) =>
        bars.Select(bar => bar with { Cell = cell });

    private bool IsUpperLimit => Kind is BarKind.AtMost or BarKind.AtMostTimes;

    private bool IsComparison => Kind is BarKind.AtMostTimes or BarKind.TimesBetter;

    /// <summary>Whether the bar applies to a cell.</summary>
    public bool IsFor(CellPlan plan) =>
        Cell is null
            ? !(plan.Order.SizeBytes < SmallestBytes)
                && !(plan.Order.SizeBytes > LargestBytes)
                && !(plan.Order.Callers > MostCallers)
            : Cell == plan.Name;

    /// <summary>
    /// Returns its result in a measured cell; null if one of its arms was not measured, or if the other one missed the
    /// rate of the cell: to be better than a queue that grows is no result.
    /// </summary>
    public ReportBar? Evaluate(CellRows rows, CellPlan plan)
    {
        Entrant? of = rows.Find(Of.Label, Of.Caller);
        if (Or is { } or && rows.Find(or.Label, or.Caller) is { } alternative
            && !(of?.MedianTime <= alternative.MedianTime))
        {
            of = alternative;
        }

        Entrant? against = Against is { } other ? rows.Find(other.Label, other.Caller) : null;
        if (of is null || (IsComparison && against is not { HasMissedRate: false }))
        {
            return null;
        }

        double[] values = Values(of, plan);
        double[] others = against is null ? [.. values.Select(_ => 1.0)] : Values(against, plan);
        Ratio ratio = Kind == BarKind.TimesBetter ? Ratio.Of(others, values) : Ratio.Of(values, others);
        return new ReportBar(
            Figure,
            plan.Name,
            Say(Limit),
            Say(Aim),
            Format.Rounded(ratio.Median),
            Format.Rounded(ratio.Low),
            Format.Rounded(ratio.High),
            IsComparison ? "times" : Unit,
            Reaches(ratio.Median, Limit),
            Reaches(ratio.Median, Aim))
        {
            Noise = Unit == "B" ? null : rows.Noise,
        };
    }

    /// <summary>Returns which of two cells' results stands for the figure.</summary>
    public ReportBar Choose(ReportBar? known, ReportBar found)
    {
        if (known is null || Across == BarAcross.OneCell)
        {
            return found;
        }

        bool isFoundBetter = IsUpperLimit ? found.Measured < known.Measured : found.Measured > known.Measured;
        return isFoundBetter == (Across == BarAcross.Best) ? found : known;
    }

    private double[] Values(Entrant entrant, CellPlan plan) =>
        [.. entrant.Figures.Select(figures => (Measure?.Invoke(figures) ?? figures.Time(plan.Time)) - Offset)];

    private bool Reaches(double value, double limit) => IsUpperLimit ? value <= limit : value >= limit;

    private string Say(double limit) =>
        $"{(IsUpperLimit ? "at most" : "at least")} {Format.Number(limit)} {(IsComparison ? "times" : Unit)}";
}

/// <summary>The choice of the cell that stands for a figure measured in several cells.</summary>
internal enum BarAcross
{
    /// <summary>It is measured in one cell.</summary>
    OneCell,

    /// <summary>The worst cell: the bar is for all.</summary>
    Worst,

    /// <summary>The best cell.</summary>
    Best,
}

/// <summary>An arm with one kind of caller, or with the faster one.</summary>
internal readonly record struct BarArm(string Label, CallerKind? Caller = null)
{
    public static BarArm Blocking(string label) => new(label, CallerKind.Blocking);

    public static BarArm Async(string label) => new(label, CallerKind.Async);
}

/// <summary>The way in which a figure meets its bar.</summary>
internal enum BarKind
{
    /// <summary>Its cost divided by the other's is at most the limit.</summary>
    AtMostTimes,

    /// <summary>The other's cost divided by its own is at least the limit.</summary>
    TimesBetter,

    /// <summary>The value itself is at most the limit.</summary>
    AtMost,

    /// <summary>The value itself is at least the limit.</summary>
    AtLeast,
}
