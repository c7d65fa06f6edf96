using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Analyzers;

/// <summary>Removes an option that has no counterpart.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
internal sealed class RemoveOptionFix : CodeFixProvider
{
    private const string Title = "Remove the option";

    public override ImmutableArray<string> FixableDiagnosticIds { get; } = [Rules.OptionWithoutCounterpart.Id];

    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        if (root?.FindNode(context.Span).FirstAncestorOrSelf<AssignmentExpressionSyntax>() is { } assignment
            && Removable(assignment) is { } removed)
        {
            context.RegisterCodeFix(
                CodeAction.Create(
                    Title,
                    _ => Task.FromResult(context.Document.WithSyntaxRoot(
                        root.RemoveNode(removed, SyntaxRemoveOptions.KeepUnbalancedDirectives)!)),
                    nameof(RemoveOptionFix)),
                context.Diagnostics);
        }
    }

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
