using System.Globalization;
using RpcOverShm.Perf.Peer.Recording;
using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Carries a plan out: warms all arms for all cells before the first is measured, then measures cell by cell.
/// </summary>
internal sealed class ScenarioRunner(ScenarioPlan plan)
{
    private static readonly TimeSpan s_parked = TimeSpan.FromSeconds(2);

    private readonly Dictionary<int, CellRecorder> _cells = [];

    public async Task WarmAsync()
    {
        PerfRun run = PerfRun.Current;
        await run.StartFleetAsync();
        PerfRun.Say($"{plan.Name}: warming up.");
        foreach (int size in plan.Sizes)
        {
            var cell = new CellRecorder(plan.Name, plan.Shape, size, run.Fleet.Pairs, run.Settings);
            await cell.WarmAsync(isFirst: _cells.Count == 0);
            _cells.Add(size, cell);
        }

        await ShowParkedAsync(run);
    }

    /// <summary>Measures one cell, adds its rows to the report, and asserts what there is to assert.</summary>
    public async Task MeasureAsync(int sizeBytes)
    {
        PerfRun.Say($"{plan.Name}: {sizeBytes} bytes.");
        CellRecorder cell = _cells[sizeBytes];
        await cell.MeasureAsync();
        var rows = new CellRows(plan.Name, sizeBytes, cell);
        PerfRun.Current.Add(rows.Make(), cell);
        Assert.Multiple(() =>
        {
            foreach (Entrant entrant in cell.Entrants)
            {
                string name = $"{plan.Name} {entrant.Pair.Label} {entrant.Caller} {sizeBytes} B";
                Assert.That(entrant.Failure, Is.Null, $"{name} has failed and has no row.");
            }

            foreach (RatioBound bound in plan.Bounds.Where(bound => bound.SizeBytes == sizeBytes))
            {
                AssertBound(bound, rows.Compare(bound.Arm, bound.Against, bound.Caller));
            }
        });
    }

    // An arm that spins while another one is measured would spoil that one's figures.
    private async Task ShowParkedAsync(PerfRun run)
    {
        ResourceSample used = await run.Fleet.MeasureParkedAsync(s_parked);
        run.Add(string.Create(
            CultureInfo.InvariantCulture,
            $"{plan.Name}: with all arms connected and none in use, their {2 * run.Fleet.Pairs.Count} processes "
            + $"together used {used.CpuMicroseconds / 1000.0:0.0} ms of CPU in {s_parked.TotalSeconds:0} s."));
    }

    private static void AssertBound(RatioBound bound, Ratio? ratio)
    {
        string what = $"{bound.Arm} against {bound.Against}, {bound.Caller}, {bound.SizeBytes} B";
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
