using System.Xml.Linq;
using NUnit.Framework.Internal;

namespace RpcOverShm.TestRunner;

/// <summary>Makes a filter of NUnit of the options of the command line.</summary>
internal static class TestSelection
{
    /// <summary>
    /// Selects the tests that have one of the names and one of the categories, and none of the others. An empty list of
    /// names or categories selects all.
    /// </summary>
    public static TestFilter Of(string[] names, string[] withoutNames, string[] categories, string[] withoutCategories)
    {
        XElement[] rules =
        [
            .. AnyOf(names.Select(Name)),
            .. AnyOf(categories.Select(Category)),
            .. withoutNames.Select(Name).Select(Not),
            .. withoutCategories.Select(Category).Select(Not),
        ];
        return TestFilter.FromXml(new XElement("filter", new XElement("and", rules)).ToString());
    }

    private static XElement[] AnyOf(IEnumerable<XElement> rules)
    {
        XElement[] all = [.. rules];
        return all.Length == 0 ? [] : [new XElement("or", all)];
    }

    private static XElement Name(string expression) => new("test", new XAttribute("re", 1), expression);

    private static XElement Not(XElement rule) => new("not", rule);

    private static XElement Category(string name) => new("cat", name);
}
