using System.Globalization;

namespace RpcOverShm.Tests.House;

/// <summary>The items of gRPC's behaviour have the tests that tests/README.md lists; and the rule bites.</summary>
public class ItemTests
{
    private const string Heading = "## Items and their tests";

    private const string Code =
        """
        class Tests
        {
            [Test]
            public void S1_Subject_Circumstance_Outcome() { }

            [TestCase(1)]
            public void X_Host_IsThere(int number) { }

            [Test]
            public void Something_OfNoItem_Happens() { }

            public void S2_OfNoTest() { }
        }
        """;

    // How many items there are of servers, clients, metadata, literal values, channel and invoker, interfaces, call
    // options and serialisation.
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
    public void Items_OfGrpcsBehaviour_HaveTheTestsThatAreListed() => Findings.AssertNone(ItemRules.Check(
        MarkdownTable.RowsUnder(Repository.Read("tests/README.md").Text, Heading),
        Demanded,
        Repository.Sources("tests/RpcOverShm.FunctionalTests")));

    [Test]
    public void ItemRules_OfATableThatIsRight_FindNothing() => Assert.That(
        Check(["S1", "`S1_Subject_Circumstance_Outcome`"], ["X_Host", "`X_Host_IsThere`"]), Is.Empty);

    [Test]
    public void ItemRules_OfWhatIsMissing_FindIt()
    {
        string[] host = ["X_Host", "`X_Host_IsThere`"];

        Assert.That(
            Check(host),
            Has.Some.Contains("No test is listed for S1.")
                .And.Some.Contains("S1_Subject_Circumstance_Outcome is not listed under S1"));
        Assert.That(
            Check(["S1", "`S1_Subject_Circumstance_Outcome`, `S1_Gone_Is_Gone`"], host),
            Is.EqualTo(new[] { "There is no test S1_Gone_Is_Gone, which is listed." }));
        Assert.That(Check(["S1", "`S2_OfNoTest`"], host), Has.Some.Contains("S2_OfNoTest stands in the row of S1."));
        Assert.That(Check(["S1", "`S2_OfNoTest`"], host), Has.Some.Contains("There is no test S2_OfNoTest"));
        Assert.That(Check(["S1", ""], host), Has.Some.Contains("No test is listed for S1."));
    }

    private static IEnumerable<string> Check(params string[][] table) =>
        ItemRules.Check(table, ["S1", "X_Host"], [new SourceFile("T.cs", Code)]);
}
