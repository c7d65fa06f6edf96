using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Analyzers;

/// <summary>Declares a payload with <c>using</c>.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
internal sealed class DisposePayloadFix() : NodeFix("Declare it with 'using'", Rules.PayloadNotDisposed)
{
    protected override SyntaxNode? Fixed(SyntaxNode root, CodeFixContext context) =>
        !context.Diagnostics.Any(found => found.Properties.ContainsKey(PayloadDisposalAnalyzer.Outlives))
            && root.FindNode(context.Span) is VariableDeclaratorSyntax
            {
                Parent: VariableDeclarationSyntax
                {
                    Variables.Count: 1,
                    Parent: LocalDeclarationStatementSyntax
                    {
                        Parent: BlockSyntax or GlobalStatementSyntax,
                    } statement,
                },
            }
            ? root.ReplaceNode(statement, Using(statement))
            : null;

    private static LocalDeclarationStatementSyntax Using(LocalDeclarationStatementSyntax statement) => statement
        .WithoutLeadingTrivia()
        .WithUsingKeyword(SyntaxFactory.Token(SyntaxKind.UsingKeyword).WithTrailingTrivia(SyntaxFactory.Space))
        .WithLeadingTrivia(statement.GetLeadingTrivia());
}
