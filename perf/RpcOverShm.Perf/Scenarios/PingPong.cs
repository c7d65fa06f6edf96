using static RpcOverShm.Perf.Scenarios.Bar;
using static RpcOverShm.Perf.Scenarios.BarArm;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Callers send a message and wait until it comes back: the time of a round trip in a closed loop, as in every program
/// that waits for the answer to a call.
/// </summary>
[Order(1)]
[Category(nameof(PingPong))]
public sealed class PingPong() : Scenario(s_plan)
{
    private const int Tiny = 100;
    private const int Kibibyte = 1 << 10;
    private const int LargeBytes = 100 * Kibibyte;
    private const string TinyCell = "100 B";

    private static readonly BarArm s_pipe = new(Fleet.Baseline);
    private static readonly BarArm s_ring = Blocking("raw-ring");
    private static readonly BarArm s_blocking = Blocking("shm-protobuf");
    private static readonly BarArm s_awaited = Async("shm-protobuf");
    private static readonly BarArm s_raw = Blocking("shm-raw");
    private static readonly BarArm s_payload = Blocking("shm-payload");

    private static readonly int[] s_further =
        [0, 8, 64, 256, 512, 4 << 10, 10 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 2 << 20];

    private static readonly ScenarioPlan s_plan = new(nameof(PingPong), [.. MakeCells()])
    {
        Bars = [NeverSlowerThanThePipe(nameof(PingPong)), .. TinyBars(), .. LargeBars(), .. CrowdedBars()],
    };

    private static IEnumerable<CellPlan> MakeCells()
    {
        yield return Echo(Tiny) with { Arms = ArmSets.WithFloor };
        int[] sizes = [Kibibyte, 100 * Kibibyte, Kibibyte * Kibibyte];
        foreach (int size in PerfSettings.IsFull ? [.. sizes.Concat(s_further).Order()] : sizes)
        {
            yield return EchoOfUsualArms(size);
        }

        yield return EchoOfUsualArms(4 << 20) with { Weight = 0.5 };
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

    private static IEnumerable<Bar> TinyBars() => In(
        TinyCell,
        AtMostTimes(4, 2, "Raw ring, against a bare cache-line round trip", s_ring, Blocking("cache-line")),
        AtMostTimes(3.4, 3, "Blocking unary, against the raw ring", s_blocking, s_ring),
        TimesBetter(30, 70, "Blocking unary, faster than the named pipe", s_blocking, s_pipe),
        TimesBetter(120, 250, "Blocking unary, faster than Grpc.Core", s_blocking, Blocking("grpc-core-uds")),
        AtMostTimes(1.5, 1.15, "Awaited unary, against blocking", s_awaited, s_blocking),
        ClientBytes(128, 0, "Blocking unary, client, allocated beyond the messages", s_blocking),
        AtMostBytes(
            400,
            250,
            "Blocking unary, server, allocated beyond the messages",
            s_blocking,
            round => round.ServerBytes,
            MessageCost.ServerBytes(Tiny)),
        ClientBytes(400, 250, "Awaited unary, client, allocated beyond the messages", s_awaited));

    private static Bar ClientBytes(double limit, double aim, string figure, BarArm of) =>
        AtMostBytes(limit, aim, figure, of, round => round.ClientBytes, MessageCost.ClientBytes(Tiny));

    private static IEnumerable<Bar> LargeBars() =>
    [
        .. In("100 KiB", TimesBetter(1.5, 3, "100 KiB unary, faster than the named pipe", s_blocking, s_pipe)),
        .. In(
            "1 MiB",
            TimesBetter(2, 4, "1 MiB unary, Protobuf, faster than the named pipe", s_blocking, s_pipe),
            TimesBetter(4, 8, "1 MiB unary, raw codec, faster than the named pipe", s_raw, s_pipe),
            AtMostTimes(1.5, 1.5, "1 MiB unary, raw payload, against the raw ring", s_payload, s_ring)),

        // Fresh memory takes most of either arm's time with larger arrays: see the README. With 64
        // blocking threads on two processors the scheduler decides.
        AtMostTimes(1, 1, "Raw codec, arrays to 1 MiB, against Protobuf", s_raw, s_blocking) with
        {
            LargestBytes = Kibibyte * Kibibyte,
            MostCallers = 1,
            Across = BarAcross.Worst,
        },
        AtMostTimes(1, 1, "Raw codec, payloads from 100 KiB, against Protobuf", s_payload, s_blocking) with
        {
            SmallestBytes = LargeBytes,
            Across = BarAcross.Worst,
        },
        .. In("1 MiB", AtMostBytes(
            4096,
            0,
            "1 MiB unary, raw payload, allocated a call, both sides",
            s_payload,
            round => round.ClientBytes + round.ServerBytes)),
    ];

    private static IEnumerable<Bar> CrowdedBars() => In(
        "1 KiB, 64 callers",
        AtLeastPerSecond(700_000, 1_500_000, "64 async callers, 1 KiB, one connection", s_awaited, "calls/s"),
        TimesBetter(20, 50, "64 async callers, 1 KiB, more calls than Grpc.Core", s_awaited, Async("grpc-core-uds")),
        TimesBetter(
            10, 30, "64 async callers, 1 KiB, less CPU a call than Grpc.Core", s_awaited, Async("grpc-core-uds")) with
        {
            Measure = round => round.CpuUs,
        });
}
