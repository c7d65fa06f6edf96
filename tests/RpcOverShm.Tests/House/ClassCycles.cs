using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>Finds files whose types depend on each other, directly or through others.</summary>
internal static class ClassCycles
{
    /// <summary>
    /// Returns one finding for each file that depends on itself. The parts of a partial class count as one file.
    /// </summary>
    public static IEnumerable<string> Find(IReadOnlyList<SourceFile> files)
    {
        ILookup<string, SourceFile> parts = files.ToLookup(NameOf);
        Dictionary<string, string> home = files
            .SelectMany(file => file.TopLevelTypes.Select(type => (Type: SourceFile.NameOf(type), File: NameOf(file))))
            .DistinctBy(type => type.Type)
            .ToDictionary(type => type.Type, type => type.File);
        Dictionary<string, string[]> needs = parts.ToDictionary(
            part => part.Key,
            part => part.SelectMany(Names).Where(home.ContainsKey).Select(name => home[name])
                .Where(other => other != part.Key).Distinct().ToArray());
        return
            from name in needs.Keys
            let way = WayBack(name, needs)
            where way is not null
            select parts[name].First().At(1, $"{string.Join(" needs ", way)}: a cycle.");
    }

    private static string NameOf(SourceFile file) => file.Name.Split('.')[0];

    private static IEnumerable<string> Names(SourceFile file) =>
        file.Root.DescendantNodes().OfType<SimpleNameSyntax>().Select(name => name.Identifier.Text).Distinct();

    // The shortest path from a file back to itself; null if there is none.
    private static List<string>? WayBack(string start, Dictionary<string, string[]> needs)
    {
        var seen = new HashSet<string>();
        var ways = new Queue<List<string>>([[start]]);
        while (ways.TryDequeue(out List<string>? way))
        {
            foreach (string next in needs[way[^1]])
            {
                if (next == start)
                {
                    return [.. way, next];
                }

                if (seen.Add(next))
                {
                    ways.Enqueue([.. way, next]);
                }
            }
        }

        return null;
    }
}
