namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// One server pushes messages to ten client processes at once, a stream each: what a feed of prices does.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(12)]
[Category(nameof(Broadcast))]
public sealed class Broadcast
{
    private static readonly ScenarioPlan s_plan = new(nameof(Broadcast), [.. MakeCells()])
    {
        FleetAsync = static run => run.StartCrowdAsync(),
    };

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Pump_ToTenClients_ArrivesAsSent(string cell) => _runner.MeasureAsync(cell);

    private static IEnumerable<CellPlan> MakeCells() => CellPlan
        .Sizes(nameof(Broadcast), LoadShape.Pump, 1 << 10, 64 << 10)
        .Select(cell => cell with
        {
            Arms = ArmSets.Crowd,
            Callers = [CallerKind.Blocking],
            Clients = PerfRun.CrowdClients,
            Time = CellTime.PerMessage,
        });
}
