using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Analyzers;

/// <summary>Awaits a blocking call, in a method that is async already.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
internal sealed class AwaitCallFix() : NodeFix("Await the call", Rules.BlockingCallback)
{
    protected override SyntaxNode? Fixed(SyntaxNode root, CodeFixContext context) =>
        root.FindNode(context.Span, getInnermostNodeForTie: true) is InvocationExpressionSyntax call
            && call.Expression is MemberAccessExpressionSyntax method
            && call.FirstAncestorOrSelf<MethodDeclarationSyntax>() is { } around
            && around.Modifiers.Any(SyntaxKind.AsyncKeyword)
            && !call.Ancestors().Any(node => node is LockStatementSyntax or CatchFilterClauseSyntax)
            ? root.ReplaceNode(call, Awaited(call, method))
            : null;

    private static ExpressionSyntax Awaited(InvocationExpressionSyntax call, MemberAccessExpressionSyntax method)
    {
        SimpleNameSyntax name = SyntaxFactory.IdentifierName(method.Name.Identifier.Text + "Async");
        ExpressionSyntax awaited = SyntaxFactory.AwaitExpression(
            SyntaxFactory.Token(SyntaxKind.AwaitKeyword).WithTrailingTrivia(SyntaxFactory.Space),
            call.WithExpression(method.WithName(name)).WithoutLeadingTrivia().WithoutTrailingTrivia());
        bool needsParentheses = call.Parent is MemberAccessExpressionSyntax or ConditionalAccessExpressionSyntax;
        return (needsParentheses ? SyntaxFactory.ParenthesizedExpression(awaited) : awaited).WithTriviaFrom(call);
    }
}
