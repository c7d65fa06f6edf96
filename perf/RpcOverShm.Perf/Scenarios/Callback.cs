namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// A call whose method makes a blocking call back to its client, as duplex contracts of WCF do, beside plain calls: of
/// a channel that offers services for callbacks, and of one that does not.
/// </summary>
[Order(3)]
[Category(nameof(Callback))]
public sealed class Callback() : Scenario(s_plan)
{
    private const int SizeBytes = 100;

    private static readonly BarArm s_plain = BarArm.Blocking("shm-protobuf");

    private static readonly CellPlan s_cell =
        CellPlan.Sizes(nameof(Callback), LoadShape.Echo, SizeBytes).Single() with
        {
            Arms = ["shm-protobuf", "shm-offering", "shm-callback", Fleet.Baseline, Fleet.BaselineAgain],
        };

    private static readonly ScenarioPlan s_plan = new(nameof(Callback), [s_cell])
    {
        Bars =
        [
            .. Bar.In(
                "100 B",
                Bar.AtMostTimes(
                    4,
                    2,
                    "Blocking call with a blocking callback, against a plain call",
                    BarArm.Blocking("shm-callback"),
                    s_plain),
                Bar.AtMostTimes(
                    1.3,
                    1.05,
                    "Plain call of a channel that offers callbacks, against one that does not",
                    BarArm.Blocking("shm-offering"),
                    s_plain)),
        ],
    };
}
