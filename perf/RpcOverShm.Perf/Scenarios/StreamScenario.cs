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
            .Select(cell => cell with { Arms = ArmSets.Streams, Time = CellTime.PerMessage })])
    {
        Bars =
        [
            ShareOfRawStream(0.25, 0.5, "Server stream, 1 KiB, Protobuf, share of the byte stream", s_product, "1 KiB"),
            ShareOfRawStream(
                0.7, 0.9, "Server stream, 64 KiB, payloads, share of the byte stream", BarArm.Async("shm-payload"),
                "64 KiB"),
            .. Bar.In(
                "1 KiB",
                Bar.AtLeastPerSecond(1_500_000, 3_000_000, "Server stream, 1 KiB", s_product, "messages/s"),
                Bar.TimesBetter(
                    40, 90, "Server stream, 1 KiB, more than Grpc.Core", s_product, BarArm.Async("grpc-core-uds"))),
        ],
    };

    private static Bar ShareOfRawStream(double limit, double aim, string figure, BarArm of, string cell) =>
        Bar.TimesBetter(limit, aim, figure, of, new BarArm("raw-stream")) with { Cell = cell };
}
