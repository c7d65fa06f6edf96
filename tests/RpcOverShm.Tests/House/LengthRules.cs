using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// The limits of files, lines and methods, and of pages. Code that exceeds one should be split, a page be shortened.
/// </summary>
internal static class LengthRules
{
    public const int FileLines = 400;
    public const int LongFileLines = 600;
    public const int LineColumns = 120;
    public const int MethodLines = 60;
    public const int Parameters = 7;
    public const int Nesting = 4;
    public const int ArchitectureBytes = 40 << 10;
    public const int DelicateRows = 17;
    public const int ReadmeLines = 180;

    /// <summary>Files that may have up to <see cref="LongFileLines"/> lines: one state machine each.</summary>
    public static readonly string[] LongFiles = [];

    public static IEnumerable<string> Files(SourceFile file)
    {
        int limit = LongFiles.Contains(file.Name) ? LongFileLines : FileLines;
        return file.Lines.Length > limit ? [file.At(1, $"{file.Lines.Length} lines; {limit} are the limit.")] : [];
    }

    public static IEnumerable<string> Lines(SourceFile file) =>
        from line in file.Lines.Index()
        where line.Item.Length > LineColumns
        select file.At(line.Index + 1, $"{line.Item.Length} columns; {LineColumns} are the limit.");

    /// <summary>
    /// Methods, constructors, accessors and local functions that are too long, from name to closing brace.
    /// </summary>
    public static IEnumerable<string> Methods(SourceFile file) =>
        from node in file.Root.DescendantNodes()
        where node is BaseMethodDeclarationSyntax or AccessorDeclarationSyntax or LocalFunctionStatementSyntax
        let span = node.GetLocation().GetLineSpan()
        let lines = span.EndLinePosition.Line - span.StartLinePosition.Line + 1
        where lines > MethodLines
        select file.At(node, $"{lines} lines; a method has at most {MethodLines}.");

    /// <summary>
    /// Methods with too many parameters. Native methods have no choice, and constructors take the parts of their
    /// object.
    /// </summary>
    public static IEnumerable<string> ParameterLists(SourceFile file) =>
        from list in file.Root.DescendantNodes().OfType<ParameterListSyntax>()
        where list.Parameters.Count > Parameters && list.Parent is not ConstructorDeclarationSyntax
            && !IsNative(list.Parent)
        select file.At(list, $"{list.Parameters.Count} parameters; {Parameters} are the limit.");

    /// <summary>Statements that are nested too deeply within one method.</summary>
    public static IEnumerable<string> NestedStatements(SourceFile file) =>
        from node in file.Root.DescendantNodes()
        where Opens(node) && node.Ancestors().TakeWhile(IsInsideOneBody).Count(Opens) == Nesting
        select file.At(node, $"More than {Nesting} statements inside each other.");

    // "else if" is no deeper than "if".
    private static bool Opens(SyntaxNode node) => node switch
    {
        IfStatementSyntax => node.Parent is not ElseClauseSyntax,
        ForStatementSyntax or CommonForEachStatementSyntax or WhileStatementSyntax or DoStatementSyntax => true,
        SwitchStatementSyntax or TryStatementSyntax or LockStatementSyntax => true,
        UsingStatementSyntax => true,
        _ => false,
    };

    private static bool IsInsideOneBody(SyntaxNode node) =>
        node is not (MemberDeclarationSyntax or AnonymousFunctionExpressionSyntax or LocalFunctionStatementSyntax);

    private static bool IsNative(SyntaxNode? method) =>
        method is MethodDeclarationSyntax { Body: null, ExpressionBody: null };
}
