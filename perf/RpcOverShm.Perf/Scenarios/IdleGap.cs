namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// A call after a silence, as in a program that calls now and then: threads and processors are asleep, caches hold
/// other data.
/// </summary>
[Order(2)]
[Category(nameof(IdleGap))]
public sealed class IdleGap() : Scenario(s_plan)
{
    private const int SizeBytes = 100;
    private const int CallsPerSlice = 12;
    private static readonly TimeSpan s_shortestSlice = TimeSpan.FromMilliseconds(100);

    private static readonly int[] s_milliseconds = PerfSettings.IsFull ? [1, 10] : [10];

    private static readonly ScenarioPlan s_plan = new(nameof(IdleGap), [.. s_milliseconds.Select(MakeCell)])
    {
        Bars = [.. s_milliseconds.Select(MakeBar)],
    };

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
        Bar bar = Bar.TimesBetter(1, 1.5, figure, BarArm.Blocking("shm-protobuf"), new BarArm(Fleet.Baseline));
        return bar with { Cell = MakeCell(milliseconds).Name };
    }

    private static string VariantOf(int milliseconds) => $"after {milliseconds} ms of silence";
}
