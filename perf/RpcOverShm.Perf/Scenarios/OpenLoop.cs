namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Calls on a schedule that is fixed beforehand, at the same rates for every arm, on a machine that is quiet or busy. A
/// time counts from the intended start of the call, so that a stall delays all calls that were due meanwhile.
/// </summary>
[Order(3)]
[Category(nameof(OpenLoop))]
public sealed class OpenLoop() : Scenario(s_plan)
{
    private const int SizeBytes = 100;
    private const long Many = 100_000; // calls a second

    // A sample of the 99.9th percentile needs thousands of calls.
    private static readonly TimeSpan s_shortestSlice = TimeSpan.FromMilliseconds(250);

    // The pipe keeps the first rate on two slow processors, and the second on faster ones.
    private static readonly (long PerSecond, int Spinning)[] s_judged =
        [(5_000, 0), (5_000, 1), (20_000, 0), (20_000, 1)];

    private static readonly ScenarioPlan s_plan = new(
        nameof(OpenLoop),
        [.. s_judged.Select(cell => MakeCell(cell.PerSecond, cell.Spinning)), MakeCell(Many, spinning: 0)])
    {
        Bars = [.. s_judged.SelectMany(cell => TailBars(MakeCell(cell.PerSecond, cell.Spinning).Name))],
    };

    private static CellPlan MakeCell(long perSecond, int spinning) =>
        new(nameof(OpenLoop), new LoadOrder(LoadShape.Echo, CallerKind.Blocking, SizeBytes))
        {
            Variant = Format.Invariant($"{perSecond:#,0} calls/s")
                + (spinning == 0 ? "" : ", beside a process that spins"),
            Arms = ["shm-protobuf", Fleet.Baseline, Fleet.BaselineAgain, "uds", "grpc-dotnet-uds"],
            Callers = [CallerKind.Blocking],
            OfferedPerSecond = perSecond,
            Spinning = spinning,
            ShortestSlice = s_shortestSlice,
        };

    private static IEnumerable<Bar> TailBars(string cell) => Bar.In(
        cell,
        TailBar($"Open loop, {cell}, p99, of the pipe's", round => round.P99Us),
        TailBar($"Open loop, {cell}, p99.9, of the pipe's", round => round.P999Us));

    private static Bar TailBar(string figure, Func<RoundFigures, double> measure) =>
        Bar.AtMostTimes(1, 0.2, figure, BarArm.Blocking("shm-protobuf"), new BarArm(Fleet.Baseline)) with
        {
            Measure = measure,
        };
}
