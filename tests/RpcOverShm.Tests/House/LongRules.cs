using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks the category of long tests. A <c>[Long]</c> gives a reason, and names a short form that is a test of the
/// short set. A test with long cases has a short one beside them. Nothing else puts a test into the category. A fixture
/// that the runs of other scheduling modes leave out has no rig.
/// </summary>
internal static class LongRules
{
    private const string Attribute = "Long";
    private const string Case = "TestCase";
    private const string LongCase = "LongAttribute.Name";

    private const string OneMode = "OneMode";

    private const int LeastReason = 20;

    // What a call through a rig needs: it takes the scheduling mode of the run.
    private static readonly string[] s_rigs = ["RigFixture", "RigOptions", "ShmRig"];

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

    /// <summary>Fixtures with <c>[OneMode]</c>, or bases of theirs, that name a rig.</summary>
    public static IEnumerable<string> CheckOneMode(IReadOnlyCollection<SourceFile> files)
    {
        ILookup<string, ClassDeclarationSyntax> classes = files
            .SelectMany(file => file.Root.DescendantNodes().OfType<ClassDeclarationSyntax>())
            .ToLookup(declaration => declaration.Identifier.Text);
        return
            from file in files
            from fixture in file.Root.DescendantNodes().OfType<ClassDeclarationSyntax>()
            where fixture.AttributeLists.SelectMany(list => list.Attributes).Any(one => one.Name.ToString() == OneMode)
            from rig in WithBases(fixture.Identifier.Text, classes)
                .SelectMany(declaration => declaration.DescendantNodes().OfType<IdentifierNameSyntax>())
                .Select(name => name.Identifier.Text)
                .Intersect(s_rigs)
            select file.At(fixture.Identifier, $"[{OneMode}]: it uses {rig}, which takes the mode of the run.");
    }

    private static IEnumerable<ClassDeclarationSyntax> WithBases(
        string name, ILookup<string, ClassDeclarationSyntax> classes) =>
        classes[name].Concat(classes[name]
            .SelectMany(declaration => declaration.BaseList?.Types.Select(type => type.Type.ToString()) ?? [])
            .SelectMany(baseName => WithBases(baseName, classes)));

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
