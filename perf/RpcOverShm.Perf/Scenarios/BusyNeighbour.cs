using static RpcOverShm.Perf.Scenarios.BarArm;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Calls and streams beside one and two processes that keep a processor busy each, as a build does: threads that wait
/// by spinning, yielding or sleeping share the processors with them.
/// </summary>
[Order(16)]
[Category(nameof(BusyNeighbour))]
public sealed class BusyNeighbour() : Scenario(s_plan)
{
    private const string Product = "shm-protobuf";
    private const string Rival = "grpc-dotnet-uds";
    private const int Tiny = 100;
    private const int Kibibyte = 1 << 10;
    private static readonly TimeSpan s_gap = TimeSpan.FromMilliseconds(10);

    // The system's slices are some milliseconds long.
    private static readonly TimeSpan s_shortestSlice = TimeSpan.FromMilliseconds(100);

    private static readonly ScenarioPlan s_plan = new(nameof(BusyNeighbour), [.. MakeCells(1), .. MakeCells(2)])
    {
        Bars =
        [
            .. Bar.In(
                $"100 B, {VariantOf(1)}",
                Bar.TimesBetter(
                    10, 20, "Blocking unary beside a busy process, faster than grpc-dotnet", Blocking(Product),
                    Blocking(Rival)),
                Bar.TimesBetter(
                    10, 20, "Awaited unary beside a busy process, faster than grpc-dotnet", Async(Product),
                    Async(Rival)),
                Bar.TimesBetter(
                    1, 2, "Blocking unary beside a busy process, faster than the named pipe", Blocking(Product),
                    new BarArm(Fleet.Baseline))),
        ],
    };

    private static IEnumerable<CellPlan> MakeCells(int spinning)
    {
        var echo = new LoadOrder(LoadShape.Echo, CallerKind.Blocking, Tiny);
        yield return MakeCell(echo, spinning);
        yield return MakeCell(echo with { SizeBytes = Kibibyte, Callers = 64 }, spinning) with
        {
            Callers = [CallerKind.Async],
            Time = CellTime.PerMessage,
        };
        yield return MakeCell(echo with { Gap = s_gap }, spinning) with
        {
            Variant = $"after {s_gap.TotalMilliseconds} ms of silence, {VariantOf(spinning)}",
            Callers = [CallerKind.Blocking],
            ShortestSlice = 12 * s_gap,
        };
        yield return MakeCell(new LoadOrder(LoadShape.Pump, CallerKind.Async, Kibibyte), spinning) with
        {
            Variant = $"a stream, {VariantOf(spinning)}",
            Time = CellTime.PerMessage,
        };
    }

    private static CellPlan MakeCell(LoadOrder order, int spinning) => new(nameof(BusyNeighbour), order)
    {
        Variant = VariantOf(spinning),
        Arms = [Product, Fleet.Baseline, Rival],
        Spinning = spinning,
        ShortestSlice = s_shortestSlice,
    };

    private static string VariantOf(int spinning) =>
        spinning == 1 ? "beside a process that spins" : $"beside {spinning} processes that spin";
}
