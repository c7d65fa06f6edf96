using NUnit.Framework;
using RpcOverShm.Explorer.Model;

[assembly: Parallelizable(ParallelScope.All)]
[assembly: LevelOfParallelism(2)]

namespace RpcOverShm.Explorer;

/// <summary>Every schedule of every scenario: the shipped code breaks no rule in any of them.</summary>
[Category("Explorer")]
public class ScheduleTests
{
    private const string BoundVariable = "RPCOVERSHM_EXPLORER_STATES";
    private const long UsualBound = 500_000;

    private static readonly string[] s_names = [.. Scenarios.All.Select(scenario => scenario.Name)];
    private static readonly string[] s_deepNames = [.. Scenarios.Deep.Select(scenario => scenario.Name)];

    /// <summary>The number of states at which a search stops.</summary>
    internal static long Bound { get; } =
        long.TryParse(Environment.GetEnvironmentVariable(BoundVariable), out long bound) ? bound : UsualBound;

    [Test]
    public void Scenario_InEverySchedule_KeepsEveryRule(
        [ValueSource(nameof(s_names))] string name, [Values] StoreOrder order)
    {
        SearchResult result = Search(Scenarios.All.Single(scenario => scenario.Name == name), order);

        Assert.That(result.Violation, Is.Null);
        Assert.That(result.IsComplete, $"The search stopped at {result.States} states; raise {BoundVariable}.");
    }

    [Test, Explicit("Long."), Category("Stress")]
    public void DeepScenario_InEveryScheduleUpToTheBound_KeepsEveryRule(
        [ValueSource(nameof(s_deepNames))] string name, [Values] StoreOrder order)
    {
        SearchResult result = Search(Scenarios.Deep.Single(scenario => scenario.Name == name), order);

        Assert.That(result.Violation, Is.Null);
    }

    [Test]
    public void Roles_OfEveryScenario_AreNoMoreThanOneWakeReaches() => Assert.That(
        Scenarios.All.Concat(Scenarios.Deep).Select(scenario => scenario.Roles.Length),
        Is.All.LessThanOrEqualTo(FutexNative.MostSleepers));

    private static SearchResult Search(Scenario scenario, StoreOrder order)
    {
        using var search = new ScheduleSearch(scenario, order, Bound);
        SearchResult result = search.Run();
        TestContext.Out.WriteLine(
            $"{scenario.Name}, stores drain {order}: {result.States} states of at most {Bound}, "
            + $"{result.Transitions} moves, {result.Depth} moves deep, {(result.IsComplete ? "all" : "not all")}");
        return result;
    }
}
