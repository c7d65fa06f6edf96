namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// Calls on a schedule that is fixed beforehand, at a share of the arm's rate in a closed loop. A time counts from the
/// intended start of the call, so that a stall delays all calls that were due meanwhile.
/// </summary>
[Order(3)]
[Category(nameof(PingPong))]
[Category(nameof(OpenLoop))]
public sealed class OpenLoop() : Scenario(s_plan)
{
    private const int SizeBytes = 100;

    private static readonly ScenarioPlan s_plan =
        new(nameof(OpenLoop), [MakeCell(0.25), MakeCell(0.5), MakeCell(0.75)]);

    private static CellPlan MakeCell(double share) =>
        new(nameof(OpenLoop), new LoadOrder(LoadShape.Echo, CallerKind.Blocking, SizeBytes))
        {
            Variant = Format.Invariant($"{share * 100:0} % of capacity"),
            Arms = [.. ArmSets.Few, "uds", "grpc-dotnet-uds", "grpc-core-uds"],
            Callers = [CallerKind.Blocking],
            OfferedShare = share,
            Weight = 0.7,
        };
}
