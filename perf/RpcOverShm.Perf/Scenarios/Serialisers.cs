namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The same echo with each serialiser, over the product, the pipe and the Unix socket: the cost of a serialiser, and of
/// a transport. First messages of one field of bytes, then records of four kinds. The arms of raw bytes carry about as
/// many bytes as the record has in Protobuf.
/// </summary>
[Order(7)]
[Category(nameof(Serialisers))]
public sealed class Serialisers() : Scenario(s_plan)
{
    private static readonly ScenarioPlan s_plan = new(nameof(Serialisers), [.. MakeCells()])
    {
        Bars =
        [
            .. Bar.In("100 B, small record", Bar.AtMostTimes(
                1.5,
                1,
                "MessagePack unary, against Protobuf",
                BarArm.Blocking("shm-msgpack-record"),
                BarArm.Blocking("shm-protobuf-record"))),
        ],
    };

    private static IEnumerable<CellPlan> MakeCells()
    {
        foreach (int size in PerfSettings.IsFull ? [100, 10 << 10] : (int[])[10 << 10])
        {
            yield return Echo(size) with { Arms = ArmSets.Serialisers, Weight = 0.5 };
        }

        string[] variants = ["three scalars", "small record", "strings, map", "1000 records"];
        foreach ((RecordKind kind, string variant) in RecordKind.All.Zip(variants).Skip(PerfSettings.IsFull ? 0 : 1))
        {
            yield return Echo(kind.SizeBytes) with { Arms = ArmSets.Records, Variant = variant, Weight = 0.5 };
        }
    }

    private static CellPlan Echo(int size) => CellPlan.Sizes(nameof(Serialisers), LoadShape.Echo, size).Single();
}
