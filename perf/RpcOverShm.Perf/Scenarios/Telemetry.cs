namespace RpcOverShm.Perf.Scenarios;

/// <summary>Calls with listeners to all spans and metrics in both processes, beside calls without any.</summary>
[Order(3)]
[Category(nameof(Telemetry))]
public sealed class Telemetry() : Scenario(s_plan)
{
    private const int SizeBytes = 100;
    private const string Plain = "shm-protobuf";
    private const string Watched = "shm-watched";

    private static readonly CellPlan s_cell =
        CellPlan.Sizes(nameof(Telemetry), LoadShape.Echo, SizeBytes).Single() with
        {
            Arms = [Plain, Watched, Fleet.Baseline, Fleet.BaselineAgain],
        };

    private static readonly ScenarioPlan s_plan = new(nameof(Telemetry), [s_cell])
    {
        Bars =
        [
            .. Bar.In(
                "100 B",
                Bar.AtMostTimes(
                    10,
                    5,
                    "Blocking call with traces and metrics, against one without",
                    BarArm.Blocking(Watched),
                    BarArm.Blocking(Plain)),
                Bar.AtMostTimes(
                    10,
                    3,
                    "Awaited call with traces and metrics, against one without",
                    BarArm.Async(Watched),
                    BarArm.Async(Plain))),
        ],
    };
}
