using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Analyzers;

/// <summary>Removes an option that has no counterpart.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
internal sealed class RemoveOptionFix() : NodeFix("Remove the option", Rules.OptionWithoutCounterpart)
{
    protected override SyntaxNode? Fixed(SyntaxNode root, CodeFixContext context) =>
        root.FindNode(context.Span).FirstAncestorOrSelf<AssignmentExpressionSyntax>() is { } assignment
            && Removable(assignment) is { } removed
            ? root.RemoveNode(removed, SyntaxRemoveOptions.KeepUnbalancedDirectives)
            : null;

    // What the code can do without: not the only statement of an 'if', the body of a lambda, or a value.
    private static SyntaxNode? Removable(AssignmentExpressionSyntax assignment) => assignment.Parent switch
    {
        InitializerExpressionSyntax initializer when initializer.IsKind(SyntaxKind.ObjectInitializerExpression) =>
            assignment,
        ExpressionStatementSyntax { Parent: BlockSyntax } statement => statement,
        ExpressionStatementSyntax { Parent: GlobalStatementSyntax global } => global,
        _ => null,
    };
}
