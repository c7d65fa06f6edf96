namespace RpcOverShm.Tests.House;

/// <summary>Each row of the tables for users of WCF has a test, a sample, or a "no" with its reason.</summary>
public class ProofTests
{
    private const string Page = "docs/migrating-from-wcf.md";
    private const string Heading = "## Where each row is proven";

    private const string Code =
        """
        class GateTests
        {
            [Test]
            public void Gate_Always_Opens() { }

            public void Lock() { }
        }

        class Tests
        {
            public void Run() { }
        }
        """;

    [Test]
    public void Rows_OfTheTablesForWcf_HaveTheirProof()
    {
        string steps = Repository.Read(".ci/run").Text;

        Findings.AssertNone(ProofRules.Check(
            Repository.Read(Page),
            Heading,
            ProofRules.TestsOf(Repository.Sources("tests")),
            sample => steps.Contains($"--project samples/{sample}\n", StringComparison.Ordinal)));
    }

    [TestCase("| gate | `GateTests` |")]
    [TestCase("| gate | `GateTests.Gate_Always_Opens`, [Gate](../samples/Gate) |")]
    [TestCase("| gate | [Gate](../samples/Gate) |")]
    [TestCase("| gate | no: it has no `Hinge` |")]
    public void Check_OfAProof_FindsNothing(string entry) => Assert.That(Check(entry), Is.Empty);

    [TestCase("", "page.md(3): 'gate' has no entry under")]
    [TestCase("| door | `GateTests` |", "page.md(3): 'gate' has no entry under")]
    [TestCase("| door | `GateTests` |", "page.md(9): There is no row 'door'.")]
    [TestCase("| gate | it works |", "page.md(9): 'gate': it names neither a test nor a sample.")]
    [TestCase("| gate | no |", "'gate': it names neither a test nor a sample.")]
    [TestCase("| gate | `GateTest` |", "there is no test 'GateTest'.")]
    [TestCase("| gate | `Tests` |", "there is no test 'Tests'.")]
    [TestCase("| gate | `GateTests.Lock` |", "there is no test 'GateTests.Lock'.")]
    [TestCase("| gate | no: see `DoorTests` |", "there is no test 'DoorTests'.")]
    [TestCase("| gate | `GateTests`, [Door](../samples/Door) |", "CI runs no sample 'Door'.")]
    public void Check_OfWhatProvesNothing_FindsIt(string entry, string finding) =>
        Assert.That(Check(entry), Has.Some.Contains(finding));

    [Test]
    public void Check_OfTwoRowsOfOneName_FindsThem() => Assert.That(
        ProofRules.Check(
            new SourceFile("page.md", "|a|b|\n|-|-|\n| gate | 1 |\n| gate | 2 |"),
            Heading,
            new HashSet<string>(),
            _ => true),
        Has.Some.Contains("There are 2 rows 'gate'."));

    private static IEnumerable<string> Check(string entry) => ProofRules.Check(
        new SourceFile("page.md", $"|a|b|\n|-|-|\n| gate | opens |\n\n{Heading}\n\n|a|b|\n|-|-|\n{entry}\n"),
        Heading,
        ProofRules.TestsOf([new SourceFile("Gate.cs", Code)]),
        sample => sample == "Gate");
}
