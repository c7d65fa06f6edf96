namespace RpcOverShm.Explorer.Model;

/// <summary>The entry into a mutant's copy of the explorer: only types of the runtime cross it.</summary>
internal static class SearchEntry
{
    /// <summary>Searches one scenario; returns the violation, "" if none, or null if the bound was reached.</summary>
    public static string? Find(string scenario, int storeOrder, long bound)
    {
        using var search = new ScheduleSearch(Named(scenario), (StoreOrder)storeOrder, bound);
        SearchResult result = search.Run();
        return result.Violation ?? (result.IsComplete ? "" : null);
    }

    private static Scenario Named(string name) => Scenarios.All.Single(item => item.Name == name);
}
