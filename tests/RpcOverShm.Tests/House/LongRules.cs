using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks the <c>[Long]</c> attributes of the tests: each gives a reason, and names a short form that is a test of the
/// short set.
/// </summary>
internal static class LongRules
{
    private const string Attribute = "Long";

    private const int LeastReason = 20;

    /// <summary>Attributes without a reason, and those whose short form is no test or is long itself.</summary>
    public static IEnumerable<string> Check(IReadOnlyCollection<SourceFile> files)
    {
        IReadOnlySet<string> tests = ProofRules.TestsOf(files);
        ISet<string> longOnes = files.SelectMany(Uses).SelectMany(use => NamesOf(use.Member)).ToHashSet();
        return
            from file in files
            from use in Uses(file)
            let arguments = use.Attribute.ArgumentList?.Arguments.Select(TextOf).ToArray() ?? []
            from problem in arguments is [var reason, var shortForm]
                ? Problems(reason, shortForm, tests, longOnes)
                : ["it takes a reason and a short form."]
            select file.At(use.Attribute, $"[{Attribute}]: {problem}");
    }

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
