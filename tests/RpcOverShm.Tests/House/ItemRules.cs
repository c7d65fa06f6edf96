using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Every item of gRPC's behaviour has tests that are named for it, and the table of them in tests/README.md is neither
/// short of one nor ahead. A test's item is what stands before its first underscore, for the members of the context the
/// member too: "S1_", "M03_", "X_Host_".
/// </summary>
internal static partial class ItemRules
{
    /// <param name="table">Rows of an item, what it says, and its tests in backticks.</param>
    /// <param name="demanded">The items that must have a row.</param>
    /// <param name="files">Where tests are looked for.</param>
    public static IEnumerable<string> Check(
        IEnumerable<string[]> table, IEnumerable<string> demanded, IEnumerable<SourceFile> files)
    {
        ILookup<string, string> listed = table
            .SelectMany(row => Name().Matches(row[^1]).Select(name => (Item: row[0], Test: name.Groups[1].Value)))
            .ToLookup(entry => entry.Item, entry => entry.Test);
        HashSet<string> tests = [.. files.SelectMany(TestsOf)];
        return demanded.Where(item => !listed.Contains(item)).Select(item => $"No test is listed for {item}.")
            .Concat(
                from row in listed
                from test in row
                where ItemOf(test) != row.Key
                select $"{test} stands in the row of {row.Key}.")
            .Concat(
                listed.SelectMany(row => row).Where(test => !tests.Contains(test))
                    .Select(test => $"There is no test {test}, which is listed."))
            .Concat(
                tests.Where(test => ItemOf(test) is { } item && !listed[item].Contains(test))
                    .Select(test => $"{test} is not listed under {ItemOf(test)}."));
    }

    private static string? ItemOf(string test) => Item().Match(test) is { Success: true } match
        ? match.Groups["item"].Value
        : null;

    private static IEnumerable<string> TestsOf(SourceFile file) =>
        from method in file.Root.DescendantNodes().OfType<MethodDeclarationSyntax>()
        where method.AttributeLists.SelectMany(list => list.Attributes)
            .Any(attribute => attribute.Name.ToString().StartsWith("Test", StringComparison.Ordinal))
        select method.Identifier.Text;

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Name();

    [GeneratedRegex(@"^(?<item>[SCMLBIOZ]\d+|X_[A-Za-z]+)_")]
    private static partial Regex Item();
}
