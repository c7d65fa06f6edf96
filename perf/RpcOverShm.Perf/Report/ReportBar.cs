using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Report;

/// <summary>A figure with a goal, and whether it reached it.</summary>
/// <param name="Figure">The name of the figure.</param>
/// <param name="Cell">The cell in which it was measured.</param>
/// <param name="Bar">The goal, in words.</param>
/// <param name="Aim">The better goal, in words.</param>
/// <param name="Measured">The median over the rounds.</param>
/// <param name="Low">The lower end of its 95 % interval.</param>
/// <param name="High">The upper end.</param>
/// <param name="Unit">The unit of the three numbers.</param>
/// <param name="IsMet">True when the median reaches the bar.</param>
/// <param name="IsAimMet">True when it reaches the aim.</param>
internal sealed record ReportBar(
    string Figure,
    string Cell,
    string Bar,
    string Aim,
    double Measured,
    double Low,
    double High,
    string Unit,
    bool IsMet,
    bool IsAimMet)
{
    /// <summary>The noise of its cell; null, and left out, for a figure that is not a time.</summary>
    [JsonIgnore(Condition = JsonIgnoreCondition.WhenWritingNull)]
    public Noise? Noise { get; init; }

    /// <summary>A bar of a figure that no plan of cells has.</summary>
    /// <param name="figure">The name of the figure.</param>
    /// <param name="cell">Where it was measured.</param>
    /// <param name="found">The measured value with its interval.</param>
    /// <param name="limit">The bar.</param>
    /// <param name="aim">The better goal.</param>
    /// <param name="isUpper">True if the value must be at most the limit.</param>
    /// <param name="unit">The unit of all numbers.</param>
    public static ReportBar Of(
        string figure,
        string cell,
        Ratio found,
        double limit,
        double aim,
        bool isUpper = false,
        string unit = "times")
    {
        string relation = isUpper ? "at most" : "at least";
        double measured = Format.Rounded(found.Median);
        return new ReportBar(
            figure,
            cell,
            $"{relation} {Format.Number(limit)} {unit}",
            $"{relation} {Format.Number(aim)} {unit}",
            measured,
            Format.Rounded(found.Low),
            Format.Rounded(found.High),
            unit,
            isUpper ? measured <= limit : measured >= limit,
            isUpper ? measured <= aim : measured >= aim);
    }

    /// <summary>One line for a log.</summary>
    public override string ToString() => Format.Invariant(
        $"{(IsMet ? "met" : "MISSED")}: {Figure}: {Found}; bar {Bar}, aim {Aim} ({Cell})");

    /// <summary>The measured value with its interval.</summary>
    public string Found => $"{Format.Number(Measured)} ({Format.Number(Low)} to {Format.Number(High)}) {Unit}";

    /// <summary>Met or missed, in words.</summary>
    public string Verdict => IsAimMet ? "met, aim too" : IsMet ? "met" : "MISSED";
}
