using static RpcOverShm.Perf.Scenarios.Bar;
using static RpcOverShm.Perf.Scenarios.BarArm;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// <see cref="PingPong"/> with payloads that are lent, up to the size of a camera's frame: all their bytes written and
/// read on both sides, and one word of each message alone.
/// </summary>
[Order(2)]
[Category(nameof(Loans))]
public sealed class Loans() : Scenario(s_plan)
{
    private static readonly int[] s_sizes = [64 << 10, 1 << 20, 16 << 20];

    private static readonly BarArm s_pipe = new(Fleet.Baseline);
    private static readonly BarArm s_lent = Blocking("shm-loan");
    private static readonly BarArm s_memory = Blocking("memory");

    private static readonly ScenarioPlan s_plan = new(nameof(Loans), [.. MakeCells()])
    {
        Bars = [.. BarsOf("1 MiB"), .. BarsOf("16 MiB")],
    };

    // The second one with what the client writes and reads, which the rate has and the time of a round trip has not.
    private static IEnumerable<Bar> BarsOf(string size) => In(
        size,
        TimesBetter(1.5, 4, $"{size} unary, lent, faster than the named pipe", s_lent, s_pipe),
        TimesBetter(1.5, 4, $"{size} unary, lent, all bytes, calls/s of the named pipe's", s_lent, s_pipe) with
        {
            Measure = static round => round.PerMessageUs,
        },
        TimesBetter(0.6, 0.9, $"{size} unary, lent, all bytes, calls/s of one process's memory", s_lent, s_memory) with
        {
            Measure = static round => round.PerMessageUs,
        });

    private static IEnumerable<CellPlan> MakeCells() =>
        CellPlan.Sizes(nameof(Loans), LoadShape.Echo, s_sizes).Select(cell => cell with
        {
            Arms = ArmSets.Loans,
            Weight = cell.Order.SizeBytes > 1 << 20 ? 2 : 1,
        });
}
