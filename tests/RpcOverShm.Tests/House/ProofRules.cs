using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks the list of what proves each row of a document's tables. An entry names tests in code spans (a class, or
/// class and method), samples by links, or says "no: " with a reason.
/// </summary>
internal static partial class ProofRules
{
    private const string No = "no: ";

    private static readonly string[] s_testAttributes = ["Test", "TestCase", "TestCaseSource"];

    /// <summary>
    /// Rows without an entry, entries without a row, and entries that prove nothing or name what is not there.
    /// </summary>
    /// <param name="document">The document.</param>
    /// <param name="heading">The heading of the list, which is a table; all other tables have rows to prove.</param>
    /// <param name="tests">The tests: <see cref="TestsOf"/>.</param>
    /// <param name="isSample">Whether there is a sample of a name.</param>
    public static IEnumerable<string> Check(
        SourceFile document, string heading, IReadOnlySet<string> tests, Func<string, bool> isSample)
    {
        ILookup<bool, (int Line, string Name, string Proof)> all = MarkdownTable.Rows(document)
            .ToLookup(row => row.Heading == heading, row => (row.Number, row.Cells[0], row.Cells[^1]));
        string[] rows = [.. all[false].Select(row => row.Name)];
        string[] entries = [.. all[true].Select(entry => entry.Name)];
        return all[false].Where(row => !entries.Contains(row.Name))
            .Select(row => document.At(row.Line, $"'{row.Name}' has no entry under '{heading}'."))
            .Concat(all[true].Where(entry => !rows.Contains(entry.Name))
                .Select(entry => document.At(entry.Line, $"There is no row '{entry.Name}'.")))
            .Concat(rows.CountBy(row => row).Where(row => row.Value > 1)
                .Select(row => document.At(1, $"There are {row.Value} rows '{row.Key}'.")))
            .Concat(
                from entry in all[true]
                from problem in Problems(entry.Proof, tests, isSample)
                select document.At(entry.Line, $"'{entry.Name}': {problem}"));
    }

    /// <summary>Returns the names of the classes with tests, and of the tests with their class: A.B.</summary>
    public static IReadOnlySet<string> TestsOf(IEnumerable<SourceFile> files) =>
        (from file in files
         from method in file.Root.DescendantNodes().OfType<MethodDeclarationSyntax>()
         where method.AttributeLists.SelectMany(list => list.Attributes)
             .Any(attribute => s_testAttributes.Contains(attribute.Name.ToString()))
         let fixture = ((TypeDeclarationSyntax)method.Parent!).Identifier.Text
         from name in new[] { fixture, $"{fixture}.{method.Identifier.Text}" }
         select name).ToHashSet();

    private static IEnumerable<string> Problems(
        string proof, IReadOnlySet<string> tests, Func<string, bool> isSample)
    {
        bool isNo = proof.StartsWith(No, StringComparison.Ordinal);
        string[] samples = [.. Sample().Matches(proof).Select(match => match.Groups["name"].Value)];

        // The reason of a "no" may contain other code.
        string[] named =
        [
            .. Span().Matches(proof).Select(match => match.Groups["text"].Value)
                .Where(text => !isNo || text.Contains("Tests", StringComparison.Ordinal)),
        ];
        return named.Where(name => !tests.Contains(name)).Select(name => $"there is no test '{name}'.")
            .Concat(samples.Where(name => !isSample(name)).Select(name => $"CI runs no sample '{name}'."))
            .Concat(isNo || named.Length + samples.Length > 0 ? [] : ["it names neither a test nor a sample."]);
    }

    [GeneratedRegex("`(?<text>[^`]+)`")]
    private static partial Regex Span();

    [GeneratedRegex(@"\]\(\.\./samples/(?<name>[^)]+)\)")]
    private static partial Regex Sample();
}
