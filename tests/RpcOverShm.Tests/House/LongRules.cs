using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks the category of long tests. A <c>[Long]</c> gives a reason, and names a short form that is a test of the
/// short set. A test with long cases has a short one beside them. Nothing else puts a test into the category.
/// </summary>
internal static class LongRules
{
    private const string Attribute = "Long";
    private const string Case = "TestCase";
    private const string LongCase = "LongAttribute.Name";

    private const int LeastReason = 20;

    /// <summary>Attributes without a reason, and those whose short form is no test or is long itself.</summary>
    public static IEnumerable<string> Check(IReadOnlyCollection<SourceFile> files)
    {
        IReadOnlySet<string> tests = ProofRules.TestsOf(files);
        ISet<string> longOnes = files.SelectMany(Uses).SelectMany(use => NamesOf(use.Member)).ToHashSet();
        IEnumerable<string> attributes =
            from file in files
            from use in Uses(file)
            let arguments = use.Attribute.ArgumentList?.Arguments.Select(TextOf).ToArray() ?? []
            from problem in arguments is [var reason, var shortForm]
                ? Problems(reason, shortForm, tests, longOnes)
                : ["it takes a reason and a short form."]
            select file.At(use.Attribute, $"[{Attribute}]: {problem}");
        return attributes.Concat(files.SelectMany(OnlyLongCases)).Concat(files.SelectMany(OtherWays));
    }

    private static IEnumerable<string> OnlyLongCases(SourceFile file) =>
        from method in file.Root.DescendantNodes().OfType<MethodDeclarationSyntax>()
        let cases = method.AttributeLists.SelectMany(list => list.Attributes)
            .Where(attribute => attribute.Name.ToString() == Case)
            .Select(attribute => attribute.ToString())
            .ToArray()
        where cases.Any(IsLong) && cases.All(one => IsLong(one) || one.Contains("Explicit", StringComparison.Ordinal))
        select file.At(method.Identifier, $"All cases of {method.Identifier.Text} are long.");

    private static IEnumerable<string> OtherWays(SourceFile file) =>
        from attribute in file.Root.DescendantNodes().OfType<AttributeSyntax>()
        where attribute.Name.ToString() is "Category" or Case
            && attribute.DescendantNodes().OfType<LiteralExpressionSyntax>()
                .Any(literal => literal.Token.ValueText == Attribute && !IsArgumentOfCase(attribute, literal))
        select file.At(attribute, $"The category is named by {LongCase}.");

    // A case may have the text as a value.
    private static bool IsArgumentOfCase(AttributeSyntax attribute, LiteralExpressionSyntax literal) =>
        attribute.Name.ToString() == Case
        && literal.FirstAncestorOrSelf<AttributeArgumentSyntax>()?.NameEquals?.Name.ToString() != "Category";

    private static bool IsLong(string attribute) => attribute.Contains(LongCase, StringComparison.Ordinal);

    private static IEnumerable<string> Problems(
        string reason, string shortForm, IReadOnlySet<string> tests, ISet<string> longOnes)
    {
        if (reason.Length < LeastReason)
        {
            yield return "it gives no reason.";
        }

        foreach (string name in shortForm.Split(", "))
        {
            if (!tests.Contains(name))
            {
                yield return $"there is no test '{name}'.";
            }
            else if (longOnes.Contains(name) || longOnes.Contains(name.Split('.')[0]))
            {
                yield return $"'{name}' is long itself.";
            }
        }
    }

    private static IEnumerable<(MemberDeclarationSyntax Member, AttributeSyntax Attribute)> Uses(SourceFile file) =>
        from member in file.Root.DescendantNodes().OfType<MemberDeclarationSyntax>()
        from attribute in member.AttributeLists.SelectMany(list => list.Attributes)
        where attribute.Name.ToString() == Attribute
        select (member, attribute);

    // A fixture is long if its class is. One with a long test and a short one is not.
    private static IEnumerable<string> NamesOf(MemberDeclarationSyntax member) => member switch
    {
        TypeDeclarationSyntax type => [type.Identifier.Text],
        MethodDeclarationSyntax { Parent: TypeDeclarationSyntax type } method =>
            [$"{type.Identifier.Text}.{method.Identifier.Text}"],
        _ => [],
    };

    // The text may be joined of several literals.
    private static string TextOf(AttributeArgumentSyntax argument) => string.Concat(
        argument.DescendantNodes().OfType<LiteralExpressionSyntax>().Select(literal => literal.Token.ValueText));
}
