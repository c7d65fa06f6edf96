namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The server sends messages as fast as they are taken: one server-streaming call, or the messages of a byte stream,
/// one write each.
/// </summary>
[Order(5)]
[Category(Name)]
public sealed class StreamScenario() : Scenario(s_plan)
{
    private const string Name = "Stream";

    private static readonly BarArm s_product = BarArm.Async("shm-protobuf");

    private static readonly ScenarioPlan s_plan = new(
        Name,
        [.. CellPlan.Sizes(Name, LoadShape.Pump, 1 << 10, 64 << 10)
            .Select(cell => cell with { Time = CellTime.PerMessage })])
    {
        Bars =
        [
            .. Bar.In(
                "1 KiB",
                Bar.AtLeastPerSecond(1_500_000, 3_000_000, "Server stream, 1 KiB", s_product, "messages/s"),
                Bar.TimesBetter(
                    40, 90, "Server stream, 1 KiB, more than Grpc.Core", s_product, BarArm.Async("grpc-core-uds"))),
        ],
    };
}
