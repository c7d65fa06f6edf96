using static RpcOverShm.Perf.Scenarios.BarArm;
using static RpcOverShm.Perf.Scenarios.BarKind;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Callers send a message and wait until it comes back: the time of a round trip, in a closed loop. Every call of a
/// program that waits for its answer is this.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(1)]
[Category(nameof(PingPong))]
public sealed class PingPong
{
    private const int Tiny = 100;
    private const int Kibibyte = 1 << 10;
    private const int LargeBytes = 100 * Kibibyte;
    private const string TinyCell = "100 B";
    private const string CrowdedCell = "1 KiB, 64 callers";

    private static readonly int[] s_extremes = [0, 4 << 20];
    private static readonly int[] s_further =
        [8, 64, 256, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 2 << 20];

    private static readonly ScenarioPlan s_plan = new(nameof(PingPong), [.. MakeCells()])
    {
        Bounds =
        [
            new RatioBound("shm-protobuf", "pipe", CallerKind.Blocking, TinyCell, TimesFaster: 3),
            new RatioBound("shm-protobuf", "grpc-core-uds", CallerKind.Blocking, TinyCell, TimesFaster: 12),
        ],
        Bars = [.. TinyBars(), .. AllocationBars(), .. LargeBars(), .. CrowdedBars()],
    };

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Echo_EveryArm_ComesBackAsSent(string cell) => _runner.MeasureAsync(cell);

    private static IEnumerable<CellPlan> MakeCells()
    {
        yield return Echo(Tiny) with { Arms = ArmSets.WithFloor };
        int[] sizes = [Kibibyte, 10 * Kibibyte, 100 * Kibibyte, Kibibyte * Kibibyte];
        foreach (int size in PerfSettings.IsFull ? [.. sizes.Concat(s_further).Order()] : sizes)
        {
            yield return EchoOfUsualArms(size);
        }

        foreach (int size in s_extremes)
        {
            yield return EchoOfUsualArms(size) with { Weight = 0.5 };
        }

        foreach (int callers in (int[])[8, 64])
        {
            CellPlan plan = Echo(Kibibyte);
            yield return plan with
            {
                Order = plan.Order with { Callers = callers },
                Arms = ArmSets.Calls,
                Time = CellTime.PerMessage,
                Weight = 0.7,
            };
        }
    }

    private static CellPlan EchoOfUsualArms(int size) =>
        Echo(size) with { Arms = size < LargeBytes ? ArmSets.Usual : ArmSets.UsualLarge };

    private static CellPlan Echo(int size) => CellPlan.Sizes(nameof(PingPong), LoadShape.Echo, size).Single();

    private static Bar[] TinyBars() =>
    [
        new("Raw ring, against a bare cache-line round trip", AtMostTimes, Blocking("raw-ring"), 4, 2)
        {
            Cell = TinyCell,
            Against = Blocking("cache-line"),
        },
        new("Blocking unary, against the raw ring", AtMostTimes, Blocking("shm-protobuf"), 4, 2.2)
        {
            Cell = TinyCell,
            Against = Blocking("raw-ring"),
        },
        new("Blocking unary, faster than the named pipe", TimesBetter, Blocking("shm-protobuf"), 30, 70)
        {
            Cell = TinyCell,
            Against = new BarArm(Fleet.Baseline),
        },
        new("Blocking unary, faster than Grpc.Core", TimesBetter, Blocking("shm-protobuf"), 120, 250)
        {
            Cell = TinyCell,
            Against = Blocking("grpc-core-uds"),
        },
        new("Awaited unary, against blocking", AtMostTimes, Async("shm-protobuf"), 1.5, 1.15)
        {
            Cell = TinyCell,
            Against = Blocking("shm-protobuf"),
        },
    ];

    private static Bar[] AllocationBars() =>
    [
        new("Blocking unary, client, allocated beyond the messages", AtMost, Blocking("shm-protobuf"), 128, 0)
        {
            Cell = TinyCell,
            Measure = round => round.ClientBytes,
            Offset = MessageCost.ClientBytes(Tiny),
            Unit = "B",
        },
        new("Blocking unary, server, allocated beyond the messages", AtMost, Blocking("shm-protobuf"), 400, 250)
        {
            Cell = TinyCell,
            Measure = round => round.ServerBytes,
            Offset = MessageCost.ServerBytes(Tiny),
            Unit = "B",
        },
        new("Awaited unary, client, allocated beyond the messages", AtMost, Async("shm-protobuf"), 400, 250)
        {
            Cell = TinyCell,
            Measure = round => round.ClientBytes,
            Offset = MessageCost.ClientBytes(Tiny),
            Unit = "B",
        },
    ];

    private static Bar[] LargeBars() =>
    [
        new("100 KiB unary, faster than the named pipe", TimesBetter, Blocking("shm-protobuf"), 1.5, 3)
        {
            Cell = "100 KiB",
            Against = new BarArm(Fleet.Baseline),
        },
        new("1 MiB unary, Protobuf, faster than the named pipe", TimesBetter, Blocking("shm-protobuf"), 2, 4)
        {
            Cell = "1 MiB",
            Against = new BarArm(Fleet.Baseline),
        },
        new("1 MiB unary, raw codec, faster than the named pipe", TimesBetter, Blocking("shm-raw"), 4, 8)
        {
            Cell = "1 MiB",
            Against = new BarArm(Fleet.Baseline),
        },
        new("1 MiB unary, raw payload, against the raw ring", AtMostTimes, Blocking("shm-payload"), 1.5, 1.5)
        {
            Cell = "1 MiB",
            Against = Blocking("raw-ring"),
        },

        // Arrays beyond that are large objects, whose fresh memory is most of either arm's time: see the README. And of
        // 64 threads that block on two processors the scheduler decides.
        new("Raw codec, arrays to 1 MiB, against Protobuf", AtMostTimes, Blocking("shm-raw"), 1, 1)
        {
            LargestBytes = Kibibyte * Kibibyte,
            MostCallers = 1,
            Against = Blocking("shm-protobuf"),
            Across = BarAcross.Worst,
        },
        new("Raw codec, payloads from 100 KiB, against Protobuf", AtMostTimes, Blocking("shm-payload"), 1, 1)
        {
            SmallestBytes = LargeBytes,
            Against = Blocking("shm-protobuf"),
            Across = BarAcross.Worst,
        },
        new("1 MiB unary, raw payload, allocated a call, both sides", AtMost, Blocking("shm-payload"), 4096, 0)
        {
            Cell = "1 MiB",
            Measure = round => round.ClientBytes + round.ServerBytes,
            Unit = "B",
        },
    ];

    private static Bar[] CrowdedBars() =>
    [
        new("64 async callers, 1 KiB, one connection", AtLeast, Async("shm-protobuf"), 700_000, 1_500_000)
        {
            Cell = CrowdedCell,
            Measure = round => 1e6 / round.PerMessageUs,
            Unit = "calls/s",
        },
        new("64 async callers, 1 KiB, more calls than Grpc.Core", TimesBetter, Async("shm-protobuf"), 20, 50)
        {
            Cell = CrowdedCell,
            Against = Async("grpc-core-uds"),
        },
        new("64 async callers, 1 KiB, less CPU a call than Grpc.Core", TimesBetter, Async("shm-protobuf"), 10, 30)
        {
            Cell = CrowdedCell,
            Against = Async("grpc-core-uds"),
            Measure = round => round.CpuUs,
        },
    ];
}
