namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The server sends the same volume in blocks of every power of two, and the client reads every byte: how much a block
/// costs, and how much a byte. The copy of memory by one thread is the ceiling.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(6)]
[Category(nameof(BlockSweep))]
public sealed class BlockSweep
{
    private const int SmallestPower = 10;
    private const int Steps = 11;
    private const long FullBytes = 10L << 30;
    private const double PartOfARow = 0.4;

    private static readonly ScenarioPlan s_plan = new(nameof(BlockSweep), [.. MakeCells()])
    {
        Bars =
        [
            RpcBar("Block sweep, RPC stream (Protobuf), faster than the kernel's pipe at every block", "shm-protobuf"),
            RpcBar("Block sweep, RPC stream (raw codec), faster than the kernel's pipe at every block", "shm-raw"),
            new(
                "Block sweep, raw stream's best block, of one thread's memcpy",
                BarKind.TimesBetter,
                BarArm.Blocking("raw-stream"),
                0.3,
                0.5)
            {
                Against = BarArm.Blocking("memcpy"),
                Across = BarAcross.Best,
            },
        ],
    };

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Pump_Blocks_ArriveAsSent(string cell) => _runner.MeasureAsync(cell);

    private static IEnumerable<CellPlan> MakeCells() =>
        from power in Enumerable.Range(SmallestPower, Steps)
        select new CellPlan(nameof(BlockSweep), new LoadOrder(LoadShape.Pump, CallerKind.Blocking, 1 << power))
        {
            Arms = ArmSets.Blocks,
            Callers = [CallerKind.Blocking],
            Time = CellTime.PerMessage,
            Weight = PartOfARow,
            VolumeBytes = PerfSettings.IsFull ? FullBytes : 0,
        };

    private static Bar RpcBar(string figure, string arm) =>
        new(figure, BarKind.TimesBetter, BarArm.Async(arm), 2, 5)
        {
            Against = BarArm.Blocking("fifo"),
            Across = BarAcross.Worst,
        };
}
