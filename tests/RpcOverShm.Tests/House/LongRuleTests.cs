namespace RpcOverShm.Tests.House;

/// <summary>
/// Each test that the short set leaves out has its reason, and a test in the short set that guards the same.
/// </summary>
public class LongRuleTests
{
    private const string Reason = "A storm takes a minute.";

    [Test]
    public void LongTests_Everywhere_HaveAReasonAndAShortForm() =>
        Findings.AssertNone(LongRules.Check([.. Repository.Sources("tests")]));

    [TestCase($"""[Long("{Reason}", "GateTests.Gate_Opens")]""")]
    [TestCase($"""[Long("{Reason}", "GateTests")]""")]
    [TestCase($"""[Long("{Reason}", "GateTests, GateTests.Gate_Opens")]""")]
    [TestCase("""[Long("A storm takes " + "a minute.", "GateTests")]""")]
    public void Check_OfAnAttributeThatIsRight_FindsNothing(string attribute) =>
        Assert.That(Check(attribute), Is.Empty);

    [TestCase("[Long]", "it takes a reason and a short form.")]
    [TestCase("""[Long("Long.", "GateTests")]""", "it gives no reason.")]
    [TestCase($"""[Long("{Reason}", "DoorTests")]""", "there is no test 'DoorTests'.")]
    [TestCase($"""[Long("{Reason}", "GateTests.Gate_Storm")]""", "'GateTests.Gate_Storm' is long itself.")]
    [TestCase($"""[Long("{Reason}", "StormTests.Storm_Ends")]""", "'StormTests.Storm_Ends' is long itself.")]
    public void Check_OfAnAttributeThatIsWrong_FindsIt(string attribute, string finding) =>
        Assert.That(Check(attribute), Has.Some.Contains(finding));

    [Test]
    public void Check_OfLongCasesWithoutAShortOne_FindsThem() => Assert.That(
        Check("[TestCase(1, Category = LongAttribute.Name)][TestCase(2, Explicit = true)]"),
        Has.Some.Contains("All cases of Gate_Storm are long."));

    [TestCase("[TestCase(1)][TestCase(2, Category = LongAttribute.Name)]")]
    [TestCase("""[TestCase("Long")]""")]
    public void Check_OfCasesThatAreRight_FindsNothing(string attributes) =>
        Assert.That(Check(attributes), Is.Empty);

    [TestCase("""[Category("Long")]""")]
    [TestCase("""[TestCase(1)][TestCase(2, Category = "Long")]""")]
    public void Check_OfOtherWaysIntoTheCategory_FindsThem(string attributes) =>
        Assert.That(Check(attributes), Has.Some.Contains("The category is named by LongAttribute.Name."));

    [Test]
    public void FixturesOfOneMode_HaveNoRig() =>
        Findings.AssertNone(LongRules.CheckOneMode([.. Repository.Sources("tests/RpcOverShm.FunctionalTests")]));

    [TestCase("", "", ExpectedResult = 0)]
    [TestCase("RigOptions Options;", "", ExpectedResult = 1)]
    [TestCase("", "ShmRig Rig;", ExpectedResult = 1)]
    public int CheckOneMode_FindsARigOfTheFixtureOrItsBase(string own, string ofBase)
    {
        var fixture = new SourceFile("A.cs", $"[OneMode] class A : B {{ {own} }}");
        return LongRules.CheckOneMode([fixture, new SourceFile("B.cs", $"class B {{ {ofBase} }}")]).Count();
    }

    private static IEnumerable<string> Check(string attribute) => LongRules.Check([new SourceFile("Gate.cs",
        $$"""
        class GateTests
        {
            [Test]
            public void Gate_Opens() { }

            [Test]
            {{attribute}}
            public void Gate_Storm() { }
        }

        [Long("{{Reason}}", "GateTests")]
        class StormTests
        {
            [Test]
            public void Storm_Ends() { }
        }
        """)]);
}
