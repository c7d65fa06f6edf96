using System.Globalization;
using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>The table of interlocked operations in perf/README.md names lines that have them.</summary>
public partial class InterlockedTableTests
{
    [Test]
    public void Lines_OfTheTable_HaveTheOperation()
    {
        MatchCollection rows = Row().Matches(Repository.Read("perf/README.md").Text);

        Assert.That(rows.Count(row => row.Groups["side"].Value == "client"), Is.LessThanOrEqualTo(5).And.Positive);
        Assert.That(rows.Count(row => row.Groups["side"].Value == "server"), Is.LessThanOrEqualTo(8).And.Positive);
        Findings.AssertNone(rows.Select(Check).OfType<string>());
    }

    private static string? Check(Match row)
    {
        string path = row.Groups["path"].Value;
        string operation = row.Groups["operation"].Value;
        string[] lines = Repository.Read(path).Lines;
        int line = int.Parse(row.Groups["line"].Value, CultureInfo.InvariantCulture);
        if (line <= lines.Length && lines[line - 1].Contains(operation, StringComparison.Ordinal))
        {
            return null;
        }

        int found = Array.FindIndex(lines, text => text.Contains(operation, StringComparison.Ordinal)) + 1;
        return $"{path}:{line} has no '{operation}'; line {found} has it.";
    }

    [GeneratedRegex(
        @"^\| (?<side>client|server) \| `(?<path>[^`:]+):(?<line>\d+)` `(?<operation>[^`]+)` \|",
        RegexOptions.Multiline)]
    private static partial Regex Row();
}
