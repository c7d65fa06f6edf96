namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Several processes, with a connection each, send messages one way to one server, which confirms that it has received
/// all, as a collector of logs or samples does.
/// </summary>
[Order(11)]
[Category(nameof(OneWayPump))]
public sealed class OneWayPump() : Scenario(s_plan)
{
    private const int Kibibyte = 1 << 10;
    private const int Mebibyte = 1 << 20;
    private const long MostBytes = 10L << 30;
    private const double PartOfARow = 0.4;

    private static readonly ScenarioPlan s_plan = new(nameof(OneWayPump), [.. MakeCells()])
    {
        IsForCrowd = true,
        Bars = [Bar.NeverSlowerThanThePipe(nameof(OneWayPump)), .. CrowdBars()],
    };

    private static IEnumerable<Bar> CrowdBars() => Bar.In(
        $"{Format.Size(Mebibyte)}, 8 clients",
        Bar.TimesBetter(
            2.5, 4, "One-way pump, 8 clients, 1 MiB, payloads, faster than the named pipe", new BarArm("shm-payload"),
            new BarArm(Fleet.Baseline)),
        Bar.TimesBetter(
            1, 2, "One-way pump, 8 clients, 1 MiB, Protobuf, faster than the named pipe", new BarArm("shm-protobuf"),
            new BarArm(Fleet.Baseline)));

    private static IEnumerable<CellPlan> MakeCells()
    {
        (int Size, long Count)[] messages =
        [
            (100, 1_024_000), (1_000, 1_024_000), (3_000, 1_024_000), (Kibibyte, 1_024_000), (10 * Kibibyte, 102_400),
            (100 * Kibibyte, 10_240), (Mebibyte, 10_240), (10 * Mebibyte, 10_240),
        ];
        int[] usual = [Kibibyte, 100 * Kibibyte, Mebibyte];
        return
            from message in messages
            where PerfSettings.IsFull || usual.Contains(message.Size)
            from clients in (int[])[1, 2, 4, 8]
            where PerfSettings.IsFull || clients is 1 or 8
            select new CellPlan(nameof(OneWayPump), new LoadOrder(LoadShape.Drain, CallerKind.Blocking, message.Size))
            {
                Arms = message.Size < 100 * Kibibyte ? ArmSets.Senders : ArmSets.LargeSenders,
                Callers = [CallerKind.Blocking],
                Clients = clients,
                Time = CellTime.PerMessage,
                Weight = PartOfARow,
                VolumeBytes = PerfSettings.IsFull ? Math.Min(MostBytes, message.Size * message.Count) : 0,
            };
    }
}
