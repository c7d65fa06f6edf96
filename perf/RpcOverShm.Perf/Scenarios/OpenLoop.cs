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
    private const long Usual = 20_000; // calls a second, near the most that the pipe carries here

    // A sample of the 99.9th percentile needs thousands of calls.
    private static readonly TimeSpan s_shortestSlice = TimeSpan.FromMilliseconds(250);

    private static readonly CellPlan s_quiet = MakeCell(Usual);
    private static readonly CellPlan s_busy = MakeCell(Usual, spinning: 1);

    private static readonly ScenarioPlan s_plan =
        new(nameof(OpenLoop), [MakeCell(5_000), s_quiet, MakeCell(100_000), s_busy])
        {
            Bars = [.. TailBars(s_quiet, ""), .. TailBars(s_busy, " beside a busy process")],
        };

    private static CellPlan MakeCell(long perSecond, int spinning = 0) =>
        new(nameof(OpenLoop), new LoadOrder(LoadShape.Echo, CallerKind.Blocking, SizeBytes))
        {
            Variant = Format.Invariant($"{perSecond:#,0} calls/s")
                + (spinning == 0 ? "" : ", beside a process that spins"),
            Arms =
            [
                "shm-raw", "shm-protobuf", Fleet.Baseline, Fleet.BaselineAgain, "uds", "grpc-dotnet-uds",
                "grpc-core-uds",
            ],
            Callers = [CallerKind.Blocking],
            OfferedPerSecond = perSecond,
            Spinning = spinning,
            ShortestSlice = s_shortestSlice,
        };

    private static IEnumerable<Bar> TailBars(CellPlan cell, string where) => Bar.In(
        cell.Name,
        TailBar($"Open loop, 20,000 calls/s{where}, p99, of the pipe's", round => round.P99Us),
        TailBar($"Open loop, 20,000 calls/s{where}, p99.9, of the pipe's", round => round.P999Us));

    private static Bar TailBar(string figure, Func<RoundFigures, double> measure) =>
        Bar.AtMostTimes(1, 0.2, figure, BarArm.Blocking("shm-protobuf"), new BarArm(Fleet.Baseline)) with
        {
            Measure = measure,
        };
}
