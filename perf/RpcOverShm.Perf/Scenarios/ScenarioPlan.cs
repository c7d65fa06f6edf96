using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>What a scenario measures.</summary>
/// <param name="Name">Its name in the tables, and its test category.</param>
/// <param name="Shape">The load.</param>
/// <param name="Sizes">The sizes, in bytes; each is a cell.</param>
internal sealed record ScenarioPlan(string Name, LoadShape Shape, IReadOnlyList<int> Sizes)
{
    public IReadOnlyList<RatioBound> Bounds { get; init; } = [];
}
