using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;
using NUnit.Framework.Internal.Builders;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The tests of one plan: warms all arms for all cells before the first is measured, then measures cell by cell.
/// </summary>
[NonParallelizable]
public abstract class Scenario
{
    private static readonly TimeSpan s_parked = TimeSpan.FromSeconds(2);

    private readonly ScenarioPlan _plan;
    private readonly Dictionary<string, CellRecorder> _cells = [];
    private int _measured;

    private protected Scenario(ScenarioPlan plan) => _plan = plan;

    internal IEnumerable<string> CellNames => _plan.Cells.Select(cell => cell.Name);

    [OneTimeSetUp]
    public async Task WarmAsync()
    {
        PerfRun run = PerfRun.Current;
        Fleet fleet = _plan.IsForCrowd ? await run.StartCrowdAsync() : await run.StartFleetAsync();
        PerfRun.Say($"{_plan.Name}: warming up for {_plan.Cells.Count} cells.");
        foreach (CellPlan cellPlan in _plan.Cells)
        {
            var cell = new CellRecorder(cellPlan, fleet, run.Settings);
            await cell.WarmAsync();
            _cells.Add(cellPlan.Name, cell);
        }

        // An arm that spins while another one is measured would distort that one's figures.
        ResourceSample used = await fleet.MeasureParkedAsync(s_parked);
        run.Add(string.Create(
            CultureInfo.InvariantCulture,
            $"{_plan.Name}: with all arms connected and none in use, the processes of all {fleet.Pairs.Count} arms "
            + $"together used {used.CpuMicroseconds / 1000.0:0.0} ms of CPU in {s_parked.TotalSeconds:0} s."));
    }

    /// <summary>Measures one cell, adds its rows to the report, and checks the assertions.</summary>
    [EachCell]
    public async Task Cell_EveryArm_CarriesItRight(string cellName)
    {
        CellRecorder cell = _cells[cellName];
        PerfRun.Say($"{_plan.Name}: {cellName} (cell {++_measured} of {_cells.Count}).");
        await cell.MeasureAsync();
        var rows = new CellRows(cell);
        PerfRun.Current.Add(rows.Make(), cell);
        IEnumerable<Bar> bars = _plan.Bars.Where(bar => bar.IsFor(cell.Plan));
        (Bar, ReportBar?)[] found = [.. bars.Select(bar => (bar, Report(bar, rows, cell.Plan)))];
        Assert.Multiple(() =>
        {
            foreach (Entrant entrant in cell.Entrants)
            {
                string name = $"{_plan.Name} {entrant.Label} {entrant.Caller} {cellName}";
                Assert.That(entrant.Failure, Is.Null, $"{name} has failed and has no row.");
            }

            foreach ((Bar bar, ReportBar? result) in found.Where(_ => PerfSettings.AssertsBars))
            {
                AssertBar(bar, result);
            }
        });
    }

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

    // A figure that any cell may meet is judged after all cells.
    private void AssertBar(Bar bar, ReportBar? found)
    {
        ReportBar? judged = bar.Across == BarAcross.Best ? PerfRun.Current.FindBar(bar.Figure) : found;
        if (bar.Across != BarAcross.Best || _measured == _cells.Count)
        {
            Assert.That(judged?.IsMet, Is.True, judged?.ToString() ?? $"{bar.Figure}: not measured.");
        }
    }
}

/// <summary>One test for each cell of the fixture's plan.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class EachCellAttribute : NUnitAttribute, ITestBuilder, IImplyFixture
{
    public IEnumerable<TestMethod> BuildFrom(IMethodInfo method, Test? suite)
    {
        var builder = new NUnitTestCaseBuilder();
        var scenario = (Scenario)Activator.CreateInstance(method.TypeInfo.Type)!;
        return scenario.CellNames.Select(
            cell => builder.BuildTestMethod(method, suite, new TestCaseParameters([cell])));
    }
}

/// <summary>A scenario: its cells, in the order of their tests.</summary>
internal sealed record ScenarioPlan(string Name, params IReadOnlyList<CellPlan> Cells)
{
    /// <summary>Figures that are reported as met or missed, and asserted on demand.</summary>
    public IReadOnlyList<Bar> Bars { get; init; } = [];

    /// <summary>Whether the processes are those that serve crowds.</summary>
    public bool IsForCrowd { get; init; }
}
