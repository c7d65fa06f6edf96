using System.Text.RegularExpressions;

namespace RpcOverShm.Perf.Report;

/// <summary>The tables of perf/README.md, which describe each arm and scenario.</summary>
internal static partial class SuiteReadme
{
    private static readonly Lazy<Dictionary<string, (string, string)>> s_texts = new(Read);

    /// <summary>
    /// The first sentence about a name, and the cell after it; empty for a name that the page does not have.
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
