using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// The server sends messages as fast as they are taken: one server-streaming call, or the messages of a byte stream,
/// one write each.
/// </summary>
[TestFixture]
[NonParallelizable]
[Category(Name)]
public sealed class StreamScenario
{
    private const string Name = "Stream";
    private const int Small = 1 << 10;
    private const int Large = 64 << 10;

    private readonly ScenarioRunner _runner = new(new ScenarioPlan(Name, LoadShape.Pump, [Small, Large]));

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCase(Small)]
    [TestCase(Large)]
    public Task Pump_EveryArm_ArrivesAsSent(int sizeBytes) => _runner.MeasureAsync(sizeBytes);
}
