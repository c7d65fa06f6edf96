using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks the table of items in tests/README.md against the <c>[Item]</c> attributes of the tests: every item has a
/// test, every attribute names an item of the table, and the last column is generated from them.
/// </summary>
internal static class ItemRules
{
    private const string Separator = " | ";

    public static IEnumerable<string> Check(
        IReadOnlyList<string[]> table, IEnumerable<string> demanded, IEnumerable<SourceFile> files)
    {
        ILookup<string, string> tests = FixturesByItem(files);
        string[] items = [.. table.Select(row => row[0])];
        return demanded.Where(item => !items.Contains(item)).Select(item => $"There is no row of {item}.")
            .Concat(items.Where(item => !tests.Contains(item)).Select(item => $"No test has [Item(\"{item}\")]."))
            .Concat(tests.Where(item => !items.Contains(item.Key))
                .Select(item => $"{item.First()}: there is no item {item.Key}."))
            .Concat(
                from row in table
                let cell = Cell(tests[row[0]])
                where row[^1] != cell
                select $"The row of {row[0]} should end with: {cell}");
    }

    /// <summary>Returns the document with the last column of the items' rows generated anew.</summary>
    public static string Write(string document, IEnumerable<SourceFile> files)
    {
        ILookup<string, string> tests = FixturesByItem(files);
        return string.Join('\n', document.Split('\n').Select(line =>
            line.Split(Separator) is [var first, var about, _] && tests.Contains(first.TrimStart('|', ' '))
                ? $"{first}{Separator}{about}{Separator}{Cell(tests[first.TrimStart('|', ' ')])} |"
                : line));
    }

    // The fixtures with their numbers of tests: "`ClientWriterTests` 7".
    private static string Cell(IEnumerable<string> fixtures) => string.Join(
        ", ",
        fixtures.CountBy(name => name).OrderBy(fixture => fixture.Key, StringComparer.Ordinal)
            .Select(fixture => $"`{fixture.Key}` {fixture.Value}"));

    private static ILookup<string, string> FixturesByItem(IEnumerable<SourceFile> files) =>
        (from file in files
         from method in file.Root.DescendantNodes().OfType<MethodDeclarationSyntax>()
         from attribute in method.AttributeLists.SelectMany(list => list.Attributes)
         where attribute.Name.ToString() == "Item"
         let item = attribute.ArgumentList!.Arguments[0].Expression as LiteralExpressionSyntax
         let fixture = (TypeDeclarationSyntax)method.Parent!
         select (Item: item!.Token.ValueText, Fixture: fixture.Identifier.Text))
        .ToLookup(test => test.Item, test => test.Fixture);
}
