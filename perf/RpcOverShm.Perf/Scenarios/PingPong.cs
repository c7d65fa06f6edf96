using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>
/// One caller sends a message and waits until it comes back: the time of a round trip, in a closed loop. Every call of
/// a program that waits for its answer is this.
/// </summary>
[TestFixture]
[NonParallelizable]
[Category(nameof(PingPong))]
public sealed class PingPong
{
    private const int Tiny = 100;
    private const int Small = 1 << 10;
    private const int Medium = 10 << 10;
    private const int Large = 100 << 10;
    private const int Huge = 1 << 20;

    private readonly ScenarioRunner _runner = new(new ScenarioPlan(
        nameof(PingPong), LoadShape.Echo, [Tiny, Small, Medium, Large, Huge])
    {
        Bounds =
        [
            new RatioBound("shm-protobuf", "pipe", CallerKind.Blocking, Tiny, TimesFaster: 3),
            new RatioBound("shm-protobuf", "grpc-core-uds", CallerKind.Blocking, Tiny, TimesFaster: 12),
        ],
    });

    [OneTimeSetUp]
    public Task WarmAsync() => _runner.WarmAsync();

    [TestCase(Tiny)]
    [TestCase(Small)]
    [TestCase(Medium)]
    [TestCase(Large)]
    [TestCase(Huge)]
    public Task Echo_EveryArm_ComesBackAsSent(int sizeBytes) => _runner.MeasureAsync(sizeBytes);
}
