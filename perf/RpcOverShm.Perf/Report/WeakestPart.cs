namespace RpcOverShm.Perf.Report;

/// <summary>
/// The first table: of each scenario the cell in which the product does worst against the pipe. The product is
/// generated Protobuf, or payloads where those are faster, with the faster kind of caller.
/// </summary>
internal static class WeakestPart
{
    private const string Text =
        "Of each scenario the cell in which the product is slowest beside the named pipe, with Protobuf or with "
        + "payloads, whichever suits the size, and with the faster kind of caller. A ratio above 1 is a loss.";

    private static readonly string[] s_product = ["shm-protobuf", "shm-payload"];

    public static ReportPart Of(IReadOnlyList<MeasuredRow> rows) =>
        new("Where it is weakest", rows.Count == 0 ? "" : Text)
        {
            Columns = ["scenario", "cell", "arm", "ratio", "95 % interval"],
            Texts = 3,
            Rows = [.. OfScenarios(rows).Select(CellsOf)],
        };

    /// <summary>Returns the row of the product in the worst cell of each scenario that has it and the pipe.</summary>
    public static IEnumerable<MeasuredRow> OfScenarios(IEnumerable<MeasuredRow> rows) =>
        rows.GroupBy(row => row.Row.Scenario).Select(WorstOf).OfType<MeasuredRow>();

    // Null for a scenario without the product. Where the pipe missed the rate of a cell, nothing can be compared.
    private static MeasuredRow? WorstOf(IEnumerable<MeasuredRow> scenario) => scenario
        .GroupBy(row => row.Cell)
        .Where(cell => !cell.Any(row => row.Row is { Arm: Fleet.Baseline, Schedule.MissedRate: true }))
        .Select(cell => cell.Where(row => s_product.Contains(row.Row.Arm)).MinBy(row => row.Row.Ratio))
        .OfType<MeasuredRow>()
        .MaxBy(row => row.Row.Ratio);

    private static string[] CellsOf(MeasuredRow measured)
    {
        ReportRow row = measured.Row;
        return
        [
            row.Scenario, measured.Cell, $"`{row.Arm}`", Format.Number(row.Ratio),
            $"{Format.Number(row.RatioLow)} to {Format.Number(row.RatioHigh)}",
        ];
    }
}
