namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Carries a plan out: warms all arms for all cells before the first is measured, then measures cell by cell.
/// </summary>
internal sealed class ScenarioRunner(ScenarioPlan plan)
{
    private static readonly TimeSpan s_parked = TimeSpan.FromSeconds(2);

    private readonly Dictionary<string, CellRecorder> _cells = [];
    private int _measured;

    public async Task WarmAsync()
    {
        PerfRun run = PerfRun.Current;
        Fleet fleet = await plan.FleetAsync(run);
        PerfRun.Say($"{plan.Name}: warming up for {plan.Cells.Count} cells.");
        foreach (CellPlan cellPlan in plan.Cells)
        {
            var cell = new CellRecorder(cellPlan, fleet, run.Settings);
            await cell.WarmAsync();
            _cells.Add(cellPlan.Name, cell);
        }

        await ShowParkedAsync(run, fleet);
    }

    /// <summary>Measures one cell, adds its rows to the report, and asserts what there is to assert.</summary>
    public async Task MeasureAsync(string cellName)
    {
        CellRecorder cell = _cells[cellName];
        PerfRun.Say($"{cell.Plan.Scenario}: {cellName} (cell {++_measured} of {_cells.Count}).");
        await cell.MeasureAsync();
        var rows = new CellRows(cell);
        PerfRun.Current.Add(rows.Make(), cell);
        (Bar, ReportBar?)[] bars = [.. BarsOf(cell.Plan).Select(bar => (bar, Report(bar, rows, cell.Plan)))];
        Assert.Multiple(() =>
        {
            foreach (Entrant entrant in cell.Entrants)
            {
                string name = $"{cell.Plan.Scenario} {entrant.Label} {entrant.Caller} {cellName}";
                Assert.That(entrant.Failure, Is.Null, $"{name} has failed and has no row.");
            }

            foreach (RatioBound bound in plan.Bounds.Where(bound => bound.Cell == cellName))
            {
                AssertBound(bound, rows.Compare(bound.Arm, bound.Against, bound.Caller));
            }

            foreach ((Bar bar, ReportBar? found) in bars.Where(_ => PerfSettings.AssertsBars))
            {
                AssertBar(bar, found);
            }
        });
    }

    private IEnumerable<Bar> BarsOf(CellPlan cell) => plan.Bars.Where(bar => bar.IsFor(cell));

    private static ReportBar? Report(Bar bar, CellRows rows, CellPlan cell)
    {
        if (bar.Evaluate(rows, cell) is not { } found)
        {
            PerfRun.Say($"not measured: {bar.Figure} ({cell.Name})");
            return null;
        }

        PerfRun.Say(found.ToString());
        PerfRun.Current.Add(bar.Choose(PerfRun.Current.FindBar(bar.Figure), found));

        return found;
    }

    // A figure that any cell may meet is judged when all have been measured.
    private void AssertBar(Bar bar, ReportBar? found)
    {
        ReportBar? judged = bar.Across == BarAcross.Best ? PerfRun.Current.FindBar(bar.Figure) : found;
        if (bar.Across != BarAcross.Best || _measured == _cells.Count)
        {
            Assert.That(judged?.IsMet, Is.True, judged?.ToString() ?? $"{bar.Figure}: not measured.");
        }
    }

    // An arm that spins while another one is measured would spoil that one's figures.
    private async Task ShowParkedAsync(PerfRun run, Fleet fleet)
    {
        ResourceSample used = await fleet.MeasureParkedAsync(s_parked);
        run.Add(string.Create(
            CultureInfo.InvariantCulture,
            $"{plan.Name}: with all arms connected and none in use, the processes of all {fleet.Pairs.Count} arms "
            + $"together used {used.CpuMicroseconds / 1000.0:0.0} ms of CPU in {s_parked.TotalSeconds:0} s."));
    }

    private static void AssertBound(RatioBound bound, Ratio? ratio)
    {
        string what = $"{bound.Arm} against {bound.Against}, {bound.Caller}, {bound.Cell}";
        Assert.That(ratio, Is.Not.Null, $"{what}: not measured.");
        string found = string.Create(
            CultureInfo.InvariantCulture,
            $"{what}: ratio {ratio!.Median:0.0000}, interval {ratio.Low:0.0000} to {ratio.High:0.0000}");
        PerfRun.Say(found);
        Assert.That(
            ratio.High,
            Is.LessThanOrEqualTo(1 / bound.TimesFaster),
            $"{found}; {bound.TimesFaster} times faster is asked for.");
    }
}
