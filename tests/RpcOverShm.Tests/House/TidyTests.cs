using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.House;

/// <summary>
/// The rules of CONTRIBUTING.md and src/ARCHITECTURE.md, applied to every file. TidyRuleTests tests the rules.
/// </summary>
public partial class TidyTests
{
    private const string CrashTests = "tests/RpcOverShm.FunctionalTests/TwoProcess/CrashPointTests.cs";

    private static readonly string[] s_codeEndings = [".cs", ".py", ".proto", ".ci/run"];

    private static IEnumerable<SourceFile> Shipped => Repository.Sources("src");

    private static IEnumerable<SourceFile> All => Repository.Sources("src", "samples", "tests", "perf");

    [Test]
    public void Files_Everywhere_AreWithinTheirLength() => Findings.AssertNone(All.SelectMany(LengthRules.Files));

    [Test]
    public void LongFiles_AllOfThem_AreLong() => Assert.That(
        All.Where(file => file.Lines.Length > LengthRules.FileLines).Select(file => file.Name),
        Is.EquivalentTo(LengthRules.LongFiles));

    [Test]
    public void Lines_OfCodeInAnyLanguage_AreWithinTheirLength() => Findings.AssertNone(
        Repository.Texts.Where(file => s_codeEndings.Any(file.Path.EndsWith)).SelectMany(LengthRules.Lines));

    [Test]
    public void Methods_Everywhere_AreWithinTheirLength() => Findings.AssertNone(All.SelectMany(LengthRules.Methods));

    [Test]
    public void Parameters_OfWhatShips_AreFew() => Findings.AssertNone(Shipped.SelectMany(LengthRules.ParameterLists));

    [Test]
    public void Statements_OfWhatShips_AreNotDeep() =>
        Findings.AssertNone(Shipped.SelectMany(LengthRules.NestedStatements));

    // The console of the tool is the one place that prints.
    [Test]
    public void Calls_OfWhatShips_NeitherSleepPrintNorReadTheWallClock() => Findings.AssertNone(
        Shipped.Where(file => file.Path != "src/RpcOverShm.Tool/Output/ToolConsole.cs")
            .SelectMany(WordRules.ForbiddenCalls).Concat(Shipped.SelectMany(WordRules.HiddenCalls)));

    // The seam: a port to another system is one room and a line of SystemChoice.
    [Test]
    public void Systems_OfWhatShips_AreAskedForInOnePlaceAndCalledInTheirRooms() =>
        Findings.AssertNone(Shipped.SelectMany(WordRules.SystemsElsewhere));

    [Test]
    public void Contexts_OfCallers_AreKeptByNothingThatShips() =>
        Findings.AssertNone(Shipped.SelectMany(WordRules.KeptContexts));

    // The other libraries run their locks in calls of the thread that may be interrupted, and for those alone.
    [Test]
    public void Locks_OnThreadsOfUsers_AreNotLeftByAnInterrupt() => Findings.AssertNone(
        Shipped.Where(file => file.Path.StartsWith("src/RpcOverShm/", StringComparison.Ordinal)
                && file.Name is not ("UninterruptibleLock.cs" or "PoolWork.cs"))
            .SelectMany(WordRules.InterruptibleLocks));

    [Test]
    public void Names_OfWhatShips_SaySomething() => Findings.AssertNone(Shipped.SelectMany(WordRules.EmptyNames));

    [Test]
    public void Regions_Anywhere_AreNone() => Findings.AssertNone(All.SelectMany(WordRules.Regions));

    [Test]
    public void Promises_InComments_HaveAnIssue() => Findings.AssertNone(All.SelectMany(WordRules.Promises));

    [Test]
    public void Summaries_Anywhere_NameTheirSubject() => Findings.AssertNone(
        All.SelectMany(WordRules.Openings).Concat(
            All.Concat(Repository.Documents).SelectMany(WordRules.Nobodies)));

    [Test]
    public void RulesOfModels_InBracketsOfWhatShips_AreTheModels()
    {
        string[] rules =
        [
            .. Repository.Texts
                .Where(file => file.Path.StartsWith("tests/Model/", StringComparison.Ordinal))
                .SelectMany(file => RuleOfModel().Matches(file.Text)).Select(match => match.Groups[1].Value),
        ];
        string[] named =
        [
            .. Shipped.SelectMany(file => RuleInBrackets().Matches(file.Text)).Select(match => match.Groups[1].Value),
        ];

        Assert.That(named, Has.Length.GreaterThan(5), "rules in brackets");
        Assert.That(named.Except(rules), Is.Empty);
    }

    [Test]
    public void SyncComments_OfWhatShips_StandAtBothEnds() => Findings.AssertNone(SyncRules.Check(Shipped));

    [Test]
    public void CrashPoints_OfWhatShips_HaveTheirCommentAndTheirTest()
    {
        Dictionary<string, string> points = typeof(CrashPoint).GetFields(BindingFlags.Static | BindingFlags.Public)
            .Where(field => field.IsLiteral && field.Name != nameof(CrashPoint.Switch))
            .ToDictionary(field => field.Name, field => (string)field.GetRawConstantValue()!);

        Assert.That(points.Values, Is.EquivalentTo(CrashPoint.All));
        Findings.AssertNone(CrashRules.Check(Shipped, points, Repository.Read(CrashTests)));
    }

    [Test]
    public void Documents_Everywhere_HaveOneTitle() =>
        Findings.AssertNone(Repository.Documents.SelectMany(MarkdownText.Titles));

    [Test]
    public void Architecture_InBytes_IsWithinItsLength() => Assert.That(
        Encoding.UTF8.GetByteCount(Repository.Read("src/ARCHITECTURE.md").Text),
        Is.AtMost(LengthRules.ArchitectureBytes));

    [Test]
    public void DelicateTable_OfContributing_IsWithinItsLength() => Assert.That(
        MarkdownTable.RowsUnder(Repository.Read("CONTRIBUTING.md").Text, "## What is most delicate"),
        Has.Count.AtMost(LengthRules.DelicateRows));

    [Test]
    public void Links_OfEveryDocument_LeadSomewhere() => Findings.AssertNone(
        Repository.Documents.SelectMany(document => MarkdownText.BrokenLinks(document, Repository.Exists)));

    [Test]
    public void Anchors_InLinksOfEveryDocument_AreHeadings()
    {
        Dictionary<string, SourceFile> documents = Repository.Documents.ToDictionary(document => document.Path);
        Findings.AssertNone(documents.Values.SelectMany(
            document => MarkdownText.BrokenAnchors(document, documents.GetValueOrDefault)));
    }

    [Test]
    public void Readme_InLines_FitsOnItsScreens() =>
        Assert.That(Repository.Read("README.md").Lines, Has.Length.AtMost(LengthRules.ReadmeLines));

    [Test]
    public void Texts_Everywhere_NameNoMachine() =>
        Findings.AssertNone(Repository.Texts.SelectMany(MachineRules.Check));

    [GeneratedRegex(@"^    ""([a-z]+(?:_[a-z]+)+)"":", RegexOptions.Multiline)]
    private static partial Regex RuleOfModel();

    [GeneratedRegex(@"[(,] ?(?:<c>)?([a-z]+(?:_[a-z]+){2,})(?:</c>)?(?=[),])")]
    private static partial Regex RuleInBrackets();
}
