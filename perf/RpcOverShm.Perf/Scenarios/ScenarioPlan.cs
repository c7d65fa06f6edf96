namespace RpcOverShm.Perf.Scenarios;

/// <summary>What a scenario measures.</summary>
/// <param name="Name">Its test category.</param>
/// <param name="Cells">The cells, in the order of their tests.</param>
internal sealed record ScenarioPlan(string Name, IReadOnlyList<CellPlan> Cells)
{
    /// <summary>What is asserted always.</summary>
    public IReadOnlyList<RatioBound> Bounds { get; init; } = [];

    /// <summary>What is reported as met or missed, and asserted on demand.</summary>
    public IReadOnlyList<Bar> Bars { get; init; } = [];

    /// <summary>Which processes carry the load.</summary>
    public Func<PerfRun, Task<Fleet>> FleetAsync { get; init; } = static async run =>
    {
        await run.StartFleetAsync();
        return run.Fleet;
    };

    /// <summary>The names of the cells, for the tests.</summary>
    public IEnumerable<string> CellNames => Cells.Select(cell => cell.Name);
}
