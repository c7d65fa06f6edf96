using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peers;
using RpcOverShm.Perf.Recording;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The same echo with each serialiser, over the product and over the pipe: what a serialiser costs, and what a
/// transport. A further serialiser is a wire format in the peer, for the pipe, and an arm with its marshallers, for the
/// product.
/// </summary>
[TestFixture]
[NonParallelizable]
[Order(7)]
[Category(nameof(Serialisers))]
public sealed class Serialisers
{
    private static readonly ScenarioPlan s_plan = new(
        nameof(Serialisers),
        [.. CellPlan.Sizes(nameof(Serialisers), LoadShape.Echo, 100, 10 << 10, 1 << 20)
            .Select(cell => cell with { Arms = ArmSets.Serialisers, Weight = 0.7 })]);

    private readonly ScenarioRunner _runner = new(s_plan);

    private static IEnumerable<string> Cells => s_plan.CellNames;

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCaseSource(nameof(Cells))]
    public Task Echo_EverySerialiser_ComesBackAsSent(string cell) => _runner.MeasureAsync(cell);
}
