namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The server sends the same volume in blocks of several powers of two, and the client reads every byte: the cost of a
/// block, and of a byte. The copy of memory by one thread is the ceiling.
/// </summary>
[Order(6)]
[Category(nameof(BlockSweep))]
public sealed class BlockSweep() : Scenario(s_plan)
{
    private const int SmallestPower = 10;
    private const int Steps = 11;
    private const int FirstLargePower = 17; // the runtime makes large objects from 85,000 bytes on
    private const long FullBytes = 10L << 30;
    private const double PartOfARow = 0.4;

    private static readonly BarArm s_fifo = BarArm.Blocking("fifo");

    private static readonly ScenarioPlan s_plan = new(nameof(BlockSweep), [.. MakeCells()])
    {
        Bars =
        [
            Bar.NeverSlowerThanThePipe(nameof(BlockSweep)),
            RpcBar("Block sweep, RPC stream (Protobuf), faster than the kernel's pipe at every block", "shm-protobuf"),
            RpcBar("Block sweep, RPC stream (raw codec), faster than the kernel's pipe at every block", "shm-raw"),
            Bar.TimesBetter(
                0.3,
                0.5,
                "Block sweep, raw stream's best block, of one thread's memcpy",
                BarArm.Blocking("raw-stream"),
                BarArm.Blocking("memcpy")) with { Across = BarAcross.Best },
        ],
    };

    private static IEnumerable<CellPlan> MakeCells() =>
        from power in Enumerable.Range(SmallestPower, Steps)
        where PerfSettings.IsFull || power % 2 == 0
        select new CellPlan(nameof(BlockSweep), new LoadOrder(LoadShape.Pump, CallerKind.Blocking, 1 << power))
        {
            Arms = power < FirstLargePower ? ArmSets.Blocks : ArmSets.LargeBlocks,
            Callers = [CallerKind.Blocking],
            Time = CellTime.PerMessage,
            Weight = PartOfARow,
            VolumeBytes = PerfSettings.IsFull ? FullBytes : 0,
        };

    private static Bar RpcBar(string figure, string arm) =>
        Bar.TimesBetter(2, 5, figure, BarArm.Async(arm), s_fifo) with { Across = BarAcross.Worst };
}
