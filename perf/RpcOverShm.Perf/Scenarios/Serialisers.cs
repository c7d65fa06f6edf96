using static RpcOverShm.Perf.Scenarios.BarArm;
using static RpcOverShm.Perf.Scenarios.BarKind;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The same echo with each serialiser, over the product, the pipe and the Unix socket: what a serialiser costs, and
/// what a transport. First messages of one field of bytes, then records of four kinds; the arms of raw bytes carry as
/// many bytes as the record has as Protobuf, about.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(7)]
[Category(nameof(Serialisers))]
public sealed class Serialisers
{
    private const string SmallCell = "100 B, small record";

    private static readonly ScenarioPlan s_plan = new(nameof(Serialisers), [.. MakeCells()])
    {
        Bars =
        [
            new("MessagePack unary, against Protobuf", AtMostTimes, Blocking("shm-msgpack-record"), 1.5, 1)
            {
                Cell = SmallCell,
                Against = Blocking("shm-protobuf-record"),
            },
        ],
    };

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Echo_EverySerialiser_ComesBackAsSent(string cell) => _runner.MeasureAsync(cell);

    private static IEnumerable<CellPlan> MakeCells()
    {
        foreach (int size in (int[])[100, 10 << 10])
        {
            yield return Echo(size) with { Arms = ArmSets.Serialisers, Weight = 0.5 };
        }

        yield return Echo(RecordSizes.Tiny) with { Arms = ArmSets.Records, Variant = "three scalars", Weight = 0.5 };
        yield return Echo(RecordSizes.Small) with { Arms = ArmSets.Records, Variant = "small record", Weight = 0.5 };
        yield return Echo(RecordSizes.Wide) with { Arms = ArmSets.Records, Variant = "strings, map", Weight = 0.5 };
        yield return Echo(RecordSizes.Table) with { Arms = ArmSets.Records, Variant = "1000 records", Weight = 0.5 };
    }

    private static CellPlan Echo(int size) => CellPlan.Sizes(nameof(Serialisers), LoadShape.Echo, size).Single();
}
