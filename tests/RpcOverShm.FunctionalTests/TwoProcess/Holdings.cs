using System.Globalization;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// Counts of what this process has of the system: descriptors of each kind, or handles on Windows, mapped segments and
/// threads.
/// </summary>
internal sealed class Holdings
{
    private const string Threads = "threads";
    private const string Untyped = "others";

    // The runtime starts and ends threads at any time. On Windows each has about so many handles of a kind.
    private static readonly Dictionary<string, int> s_ofThread = new()
    {
        [Threads] = 0,
        ["Thread"] = 1,
        ["Event"] = 2,
        [Untyped] = 0,
    };

    private readonly SortedDictionary<string, int> _counts = new(StringComparer.Ordinal);

    private Holdings()
    {
        foreach ((string kind, int count) in ProcessResources.CountByKind())
        {
            _counts[kind.Length > 0 ? kind : Untyped] = count;
        }

        var facts = ProcessFacts.OfSelf();
        _counts["mapped segments"] = facts.Mappings;
        _counts["threads of the library"] = facts.Threads;
        _counts[Threads] = ProcessResources.ThreadNames().Length;
    }

    /// <summary>Counts after a collection: what waits for its finalizer is no leak.</summary>
    public static Holdings AfterCollection()
    {
        Unobserved.Collect();
        return new Holdings();
    }

    /// <summary>
    /// Returns the kinds of which there are more than before, by more than one for ten kills; by more than one for two
    /// kills, if the runtime has some too.
    /// </summary>
    public string[] LeftBy(int kills, Holdings before)
    {
        int threads = Of(Threads) - before.Of(Threads);
        return
        [
            .. _counts.Keys.Where(kind => s_ofThread.TryGetValue(kind, out int handles)
                ? Of(kind) - before.Of(kind) - (handles * threads) > kills / 2
                : Of(kind) - before.Of(kind) > kills / 10),
        ];
    }

    public string Describe(Holdings before) => string.Join(", ", _counts.Keys.Union(before._counts.Keys).Select(
        kind => string.Create(CultureInfo.InvariantCulture, $"{kind} {before.Of(kind)} to {Of(kind)}")));

    private int Of(string kind) => _counts.GetValueOrDefault(kind);
}
