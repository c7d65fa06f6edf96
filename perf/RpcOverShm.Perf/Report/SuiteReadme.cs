using System.Text.RegularExpressions;

namespace RpcOverShm.Perf.Report;

/// <summary>The tables of perf/README.md, which describe each arm and scenario.</summary>
internal static partial class SuiteReadme
{
    private static readonly Lazy<Dictionary<string, (string, string)>> s_texts = new(Read);

    /// <summary>
    /// Returns the first sentence about a name, and the cell after it; both are empty for an unknown name.
    /// </summary>
    public static (string Sentence, string Next) Of(string name) => s_texts.Value.GetValueOrDefault(name, ("", ""));

    private static Dictionary<string, (string Sentence, string Next)> Read()
    {
        string path = Path.Combine(RepositoryRoot.Path, "perf", "README.md");
        var texts = new Dictionary<string, (string, string)>();
        IEnumerable<string[]> rows = File.ReadLines(path).Select(line => line.Split('|'));
        foreach (string[] cells in rows.Where(cells => cells.Length > 3))
        {
            foreach (Match name in Name().Matches(cells[1]))
            {
                texts.TryAdd(name.Groups[1].Value, (FirstSentence().Match(cells[2].Trim()).Value, cells[3].Trim()));
            }
        }

        return texts;
    }

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Name();

    [GeneratedRegex(@"^.+?\.(?= |$)|^.+")]
    private static partial Regex FirstSentence();
}

/// <summary>
/// The folder of the repository, found from the folder of the tests: the working directory may be any.
/// </summary>
internal static class RepositoryRoot
{
    public static string Path { get; } = Find();

    private static string Find()
    {
        string start = System.IO.Path.GetDirectoryName(typeof(RepositoryRoot).Assembly.Location)!;
        for (DirectoryInfo? folder = new(start); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(System.IO.Path.Combine(folder.FullName, "RpcOverShm.sln")))
            {
                return folder.FullName;
            }
        }

        throw new DirectoryNotFoundException($"No folder above '{start}' holds RpcOverShm.sln.");
    }
}
