namespace RpcOverShm.Tests.House;

/// <summary>Code that documents quote is compiled code: if a sample changes, its quotations must change too.</summary>
public class DocumentSnippetTests
{
    private const string Code =
        "// snippet: part\n    int one = 1;\n\n        int two = 2;\n    // end snippet\nint three = 3;\n";

    private const string VisualBasic = "    ' snippet: part\n    Dim one = 1\n    ' end snippet\n    Dim two = 2\n";

    [Test]
    public void Quotations_InEveryDocument_AreTheirSources() =>
        Findings.AssertNone(Repository.Documents.SelectMany(document => Snippets.Check(document, ReadOrNull)));

    [Test]
    public void Readme_QuotesServiceServerClientAndFiveMoreThings() =>
        Assert.That(Snippets.Count(Repository.Read("README.md")), Is.GreaterThanOrEqualTo(8));

    [Test]
    public void Readme_LinksEveryPageOfDocs()
    {
        string readme = Repository.Read("README.md").Text;
        Assert.That(
            Repository.Documents.Where(document => document.Folder == "docs").Select(document => document.Path)
                .Where(path => !readme.Contains($"({path})", StringComparison.Ordinal)),
            Is.Empty);
    }

    /// <summary>A server without a logger leaves no trace of what its methods throw.</summary>
    [Test]
    public void Servers_InEveryQuotation_HaveALogger() =>
        Findings.AssertNone(Repository.Documents.SelectMany(Snippets.ServersWithoutLogger));

    [TestCase("new ShmServer(address);", 1)]
    [TestCase("new ShmServerOptions { IdleTimeout = time };", 1)]
    [TestCase("new ShmStreamListener(address);", 1)]
    [TestCase("new ShmServerOptions { LoggerFactory = loggers };", 0)]
    [TestCase("new ShmChannelOptions();", 0)]
    public void Servers_WithoutALogger_AreFound(string code, int findings) => Assert.That(
        Snippets.ServersWithoutLogger(new SourceFile("page.md", $"<!-- snippet: a.cs -->\n```csharp\n{code}\n```")),
        Has.Exactly(findings).Items);

    /// <summary>Pages for users quote their code, and those about migrating show some.</summary>
    [TestCase("docs/concepts.md", 4)]
    [TestCase("docs/debugging.md", 3)]
    [TestCase("docs/deployment.md", 2)]
    [TestCase("docs/fsharp-and-visual-basic.md", 8)]
    [TestCase("docs/hosting.md", 6)]
    [TestCase("docs/migrating-from-grpc.md", 4)]
    [TestCase("docs/migrating-from-named-pipes.md", 4)]
    [TestCase("docs/migrating-from-wcf.md", 25)]
    [TestCase("docs/testing.md", 7)]
    [TestCase("docs/troubleshooting.md", 1)]
    [TestCase("docs/two-doors.md", 4)]
    public void Page_ForUsers_QuotesItsCode(string page, int fewest) =>
        Assert.That(Snippets.Count(Repository.Read(page)), Is.GreaterThanOrEqualTo(fewest));

    /// <summary>The figures of the README are those of a published report.</summary>
    [Test]
    public void Readme_Speed_IsThatOfTheNewestReport()
    {
        const string heading = "\n## Speed\n";
        SourceFile newest = Repository.Documents.Last(file => file.Folder == "perf/results");
        string[] parts = newest.Text.Split(heading);
        Assert.That(parts, Has.Length.EqualTo(2), $"{newest.Path} has no section 'Speed'.");
        Assert.That(Repository.Read("README.md").Text, Does.Contain(heading + parts[1].Split("\n## ")[0]));
    }

    [TestCase("<!-- snippet: a.cs#part -->\n```csharp\nint one = 1;\n\n    int two = 2;\n```\n")]
    [TestCase("<!-- snippet: b.cs -->\n```csharp\nint four;\n```\nWords.\n```sh\nls\n```\n")]
    [TestCase("<!-- snippet: c.vb#part -->\n```vb\nDim one = 1\n```\n")]
    public void Check_OfARightQuotation_FindsNothing(string markdown) => Assert.That(Check(markdown), Is.Empty);

    [TestCase("<!-- snippet: b.cs -->\n```csharp\nint five;\n```", "which has: int four;")]
    [TestCase("<!-- snippet: b.cs -->\n\n```csharp\nint four;\n```", "is not that of its source")]
    [TestCase("<!-- snippet: b.cs -->\n```csharp\nint four;\nint four;\n```", "the same lines otherwise")]
    [TestCase("<!-- snippet: a.cs#lost -->\n```csharp\nint one = 1;\n```", "names no file")]
    [TestCase("<!-- snippet: lost.cs -->\n```csharp\nint one = 1;\n```", "names no file")]
    [TestCase("```csharp\nint four;\n```", "without a snippet marker")]
    [TestCase("```cs\nint four;\n```", "without a snippet marker")]
    [TestCase("```fsharp\nlet four = 4\n```", "without a snippet marker")]
    [TestCase("```vb\nDim four = 4\n```", "without a snippet marker")]
    [TestCase("1. A list.\n   ```C#\n   int four;\n   ```", "without a snippet marker")]
    public void Check_OfAWrongQuotation_FindsIt(string markdown, string finding) =>
        Assert.That(Check(markdown), Has.Some.Contains(finding));

    private static IEnumerable<string> Check(string markdown) => Snippets.Check(
        new SourceFile("README.md", markdown),
        path => path switch { "a.cs" => Code, "b.cs" => "int four;\n", "c.vb" => VisualBasic, _ => null });

    private static string? ReadOrNull(string path) =>
        Repository.Exists(path) ? Repository.Read(path).Text : null;
}
