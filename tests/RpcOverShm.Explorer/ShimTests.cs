using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using NUnit.Framework;

namespace RpcOverShm.Explorer;

/// <summary>The shim of the link against the product's: the members that wait, wake and read are the same.</summary>
[Category("Explorer")]
public class ShimTests
{
    private static readonly string[] s_copied =
    [
        "SleepForData", "SleepForSpace", "WakePeerForData", "WakePeerForSpace", "RaiseLocalEvent",
        "WaitForLateWake", "TryReadFrame", "LocalEvents", "IsClosed", "CloseForViolation",
    ];

    [TestCaseSource(nameof(s_copied))]
    public void Member_OfTheShim_IsThatOfTheProduct(string name) =>
        Assert.That(TokensOf("Source/PeerLink.cs", name), Is.EqualTo(TokensOf("Compared/PeerLink.cs", name)));

    private static string TokensOf(string resource, string name)
    {
        using var reader = new StreamReader(
            typeof(ShimTests).Assembly.GetManifestResourceStream(resource)
            ?? throw new FileNotFoundException(resource));
        MemberDeclarationSyntax member = CSharpSyntaxTree.ParseText(reader.ReadToEnd()).GetRoot().DescendantNodes()
            .OfType<MemberDeclarationSyntax>()
            .Single(item => item is MethodDeclarationSyntax method && method.Identifier.Text == name
                || item is PropertyDeclarationSyntax property && property.Identifier.Text == name);
        return string.Join(
            ' ',
            member.DescendantTokens()
                .Where(token => token.Parent!.FirstAncestorOrSelf<AttributeListSyntax>() is null)
                .Select(token => token.Text));
    }
}
