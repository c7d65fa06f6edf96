namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// One server pushes messages to ten client processes at once, a stream each, as a feed of prices does.
/// </summary>
[Order(12)]
[Category(nameof(Broadcast))]
public sealed class Broadcast() : Scenario(s_plan)
{
    private static readonly ScenarioPlan s_plan = new(
        nameof(Broadcast),
        [
            .. CellPlan.Sizes(nameof(Broadcast), LoadShape.Pump, 1 << 10, 64 << 10).Select(cell => cell with
            {
                Arms = ArmSets.Crowd,
                Callers = [CallerKind.Blocking],
                Clients = PerfRun.CrowdClients,
                Time = CellTime.PerMessage,
            }),
        ])
    {
        IsForCrowd = true,
        Bars = [Bar.NeverSlowerThanThePipe(nameof(Broadcast))],
    };

    /// <summary>The last scenario with crowds ends them.</summary>
    [OneTimeTearDown]
    public Task EndCrowdAsync() => PerfRun.Current.EndCrowdAsync();
}
