namespace RpcOverShm.Tests.House;

/// <summary>The items of gRPC's behaviour and their tests, as tests/README.md lists them; and that the rule bites.</summary>
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

    /// <summary>The server's, metadata, literal values, the members of the context.</summary>
    private static IEnumerable<string> Demanded =>
    [
        .. Enumerable.Range(1, 19).Select(number => $"S{number}"),
        .. Enumerable.Range(1, 12).Select(number => $"M{number:00}"),
        .. Enumerable.Range(1, 15).Select(number => $"L{number:00}"),
        .. s_members.Select(member => $"X_{member}"),
    ];

    private static readonly string[] s_members =
    [
        "Method", "Host", "Peer", "Deadline", "RequestHeaders", "CancellationToken", "ResponseTrailers", "Status",
        "WriteOptions", "AuthContext", "CreatePropagationToken", "WriteResponseHeaders", "UserState",
    ];

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
