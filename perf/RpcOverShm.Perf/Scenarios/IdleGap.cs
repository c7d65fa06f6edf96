namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// A call after a silence: threads are asleep and processors too, caches hold something else. What a program sees that
/// calls now and then.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(2)]
[Category(nameof(PingPong))]
[Category(nameof(IdleGap))]
public sealed class IdleGap
{
    private const int SizeBytes = 100;
    private const int CallsPerSlice = 12;
    private static readonly TimeSpan s_shortestSlice = TimeSpan.FromMilliseconds(100);

    private static readonly ScenarioPlan s_plan = new(nameof(IdleGap), [MakeCell(1), MakeCell(10)])
    {
        Bars = [MakeBar(1), MakeBar(10)],
    };

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Echo_AfterSilence_ComesBackAsSent(string cell) => _runner.MeasureAsync(cell);

    private static CellPlan MakeCell(int milliseconds)
    {
        var gap = TimeSpan.FromMilliseconds(milliseconds);
        TimeSpan calls = CallsPerSlice * gap;
        var order = new LoadOrder(LoadShape.Echo, CallerKind.Blocking, SizeBytes) { Gap = gap };
        return new CellPlan(nameof(IdleGap), order)
        {
            Variant = VariantOf(milliseconds),
            Arms = ArmSets.Calls,
            ShortestSlice = calls > s_shortestSlice ? calls : s_shortestSlice,
        };
    }

    private static Bar MakeBar(int milliseconds)
    {
        string figure = $"Unary {VariantOf(milliseconds)}, against the named pipe";
        return new Bar(figure, BarKind.TimesBetter, BarArm.Blocking("shm-protobuf"), 1, 1.5)
        {
            Cell = MakeCell(milliseconds).Name,
            Against = new BarArm(Fleet.Baseline),
        };
    }

    private static string VariantOf(int milliseconds) => $"after {milliseconds} ms of silence";
}
