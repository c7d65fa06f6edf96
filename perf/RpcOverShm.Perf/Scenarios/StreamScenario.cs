namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The server sends messages as fast as they are taken: one server-streaming call, or the messages of a byte stream,
/// one write each.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(5)]
[Category(Name)]
public sealed class StreamScenario
{
    private const string Name = "Stream";
    private const string SmallCell = "1 KiB";

    private static readonly ScenarioPlan s_plan = new(
        Name,
        [.. CellPlan.Sizes(Name, LoadShape.Pump, 1 << 10, 64 << 10)
            .Select(cell => cell with { Time = CellTime.PerMessage })])
    {
        Bars =
        [
            new("Server stream, 1 KiB", BarKind.AtLeast, BarArm.Async("shm-protobuf"), 1_500_000, 3_000_000)
            {
                Cell = SmallCell,
                Measure = round => 1e6 / round.PerMessageUs,
                Unit = "messages/s",
            },
            new("Server stream, 1 KiB, more than Grpc.Core", BarKind.TimesBetter, BarArm.Async("shm-protobuf"), 40, 90)
            {
                Cell = SmallCell,
                Against = BarArm.Async("grpc-core-uds"),
            },
        ],
    };

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Pump_EveryArm_ArrivesAsSent(string cell) => _runner.MeasureAsync(cell);
}
