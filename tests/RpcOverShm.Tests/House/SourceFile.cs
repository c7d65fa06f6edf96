using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// A text file, identified by its path from the repository's root with forward slashes. Rules take only these, so that
/// a test can pass a bad sample.
/// </summary>
internal sealed class SourceFile(string path, string text)
{
    private CompilationUnitSyntax? _root;

    public string Path { get; } = path;

    public string Text { get; } = text;

    public string Name => Path[(Path.LastIndexOf('/') + 1)..];

    public string Folder => Path[..Math.Max(0, Path.LastIndexOf('/'))];

    public string[] Lines { get; } = text.TrimEnd('\n').Split('\n');

    public CompilationUnitSyntax Root => _root ??= CSharpSyntaxTree.ParseText(Text).GetCompilationUnitRoot();

    /// <summary>The types that are not nested in another type.</summary>
    public IEnumerable<MemberDeclarationSyntax> TopLevelTypes =>
        Root.DescendantNodes(node => node is CompilationUnitSyntax or BaseNamespaceDeclarationSyntax)
            .OfType<MemberDeclarationSyntax>()
            .Where(member => member is BaseTypeDeclarationSyntax or DelegateDeclarationSyntax);

    public static string NameOf(MemberDeclarationSyntax type) => type switch
    {
        BaseTypeDeclarationSyntax declaration => declaration.Identifier.Text,
        DelegateDeclarationSyntax declaration => declaration.Identifier.Text,
        _ => "",
    };

    public static int LineOf(SyntaxNodeOrToken node) => node.GetLocation()!.GetLineSpan().StartLinePosition.Line + 1;

    /// <summary>Formats a finding as compilers do, so that editors link it.</summary>
    public string At(SyntaxNodeOrToken node, string what) => At(LineOf(node), what);

    public string At(int line, string what) => $"{Path}({line}): {what}";
}
