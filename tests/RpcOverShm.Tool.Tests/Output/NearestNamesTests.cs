using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Tests.Output;

/// <summary>Names that somebody may have meant.</summary>
public class NearestNamesTests
{
    private static readonly string[] s_names = ["tags", "text", "number", "written"];

    [TestCase("tgas", "tags")]
    [TestCase("TEXT", "text")]
    [TestCase("numbr", "number")]
    [TestCase("zzzzzz", "")]
    public void Find_OfANameWithFewWrongLetters_ReturnsTheNearest(string name, string expected) =>
        Assert.That(NearestNames.Find(name, s_names).FirstOrDefault() ?? "", Is.EqualTo(expected));

    [Test]
    public void Advice_WithoutANearName_ListsAll() => Assert.That(
        NearestNames.Advice("zzzzzz", s_names, "Its fields are"),
        Is.EqualTo("Its fields are tags, text, number, written."));
}
