using System.Globalization;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Every item of gRPC's behaviour has the tests that tests/README.md lists. Includes tests of the rule itself.
/// </summary>
public class ItemTests
{
    private const string Heading = "## Items and their tests";

    private const string WriteVariable = "RPCOVERSHM_WRITE_ITEMS";

    private const string Code =
        """
        class UnaryTests
        {
            [Test]
            [Item("S1")]
            public void Subject_Circumstance_Outcome() { }

            [TestCase(1)]
            [Item("S1")]
            [Item("X_Host")]
            public void Host_Always_IsThere(int number) { }

            [Test]
            public void Something_OfNoItem_Happens() { }
        }
        """;

    // The number of items of servers, clients, metadata, literal values, channel and invoker, interfaces, call options
    // and serialization.
    private static readonly (string Letter, int Count, string Digits)[] s_items =
    [
        ("S", 19, "0"), ("C", 23, "0"), ("M", 12, "00"), ("L", 15, "00"), ("B", 9, "0"), ("I", 3, "0"), ("O", 8, "0"),
        ("Z", 7, "0"),
    ];

    private static readonly string[] s_members =
    [
        "Method", "Host", "Peer", "Deadline", "RequestHeaders", "CancellationToken", "ResponseTrailers", "Status",
        "WriteOptions", "AuthContext", "CreatePropagationToken", "WriteResponseHeaders", "UserState",
    ];

    private static IEnumerable<string> Demanded => s_items
        .SelectMany(item => Enumerable.Range(1, item.Count).Select(
            number => item.Letter + number.ToString(item.Digits, CultureInfo.InvariantCulture)))
        .Concat(s_members.Select(member => $"X_{member}"));

    [Test]
    public void Items_OfGrpcsBehaviour_HaveTheTestsThatTheTableNames()
    {
        SourceFile document = Repository.Read("tests/README.md");
        IEnumerable<SourceFile> tests = Repository.Sources("tests/RpcOverShm.FunctionalTests");
        if (Environment.GetEnvironmentVariable(WriteVariable) == "1")
        {
            File.WriteAllText(
                Path.Combine(Repository.Root, "tests/README.md"), ItemRules.Write(document.Text, tests));
            Assert.Inconclusive("The table was written. Look at the difference.");
        }

        Findings.AssertNone(ItemRules.Check(MarkdownTable.RowsUnder(document.Text, Heading), Demanded, tests));
    }

    [Test]
    public void ItemRules_OfATableThatIsRight_FindNothing() => Assert.That(
        Check(["S1", "", "`UnaryTests` 2"], ["X_Host", "", "`UnaryTests` 1"]), Is.Empty);

    [Test]
    public void ItemRules_OfATableThatIsWrong_FindIt() => Assert.That(
        Check(["S1", "", "`UnaryTests` 1"], ["S2", "", ""]),
        Is.EqualTo(new[]
        {
            "There is no row of X_Host.",
            "No test has [Item(\"S2\")].",
            "UnaryTests: there is no item X_Host.",
            "The row of S1 should end with: `UnaryTests` 2",
        }));

    [Test]
    public void Write_OldColumn_IsMadeAnew() => Assert.That(
        ItemRules.Write("# Tests\n| S1 | is about | `Gone` 3 |\n| S2 | is about | none |", [new("T.cs", Code)]),
        Is.EqualTo("# Tests\n| S1 | is about | `UnaryTests` 2 |\n| S2 | is about | none |"));

    private static IEnumerable<string> Check(params string[][] table) =>
        ItemRules.Check(table, ["S1", "X_Host"], [new SourceFile("T.cs", Code)]);
}
