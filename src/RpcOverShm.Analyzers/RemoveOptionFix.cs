using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
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
        if (root?.FindNode(context.Span).FirstAncestorOrSelf<AssignmentExpressionSyntax>() is { } assignment)
        {
            SyntaxNode removed = assignment.Parent is ExpressionStatementSyntax statement ? statement : assignment;
            context.RegisterCodeFix(
                CodeAction.Create(
                    Title,
                    _ => Task.FromResult(context.Document.WithSyntaxRoot(
                        root.RemoveNode(removed, SyntaxRemoveOptions.KeepNoTrivia)!)),
                    nameof(RemoveOptionFix)),
                context.Diagnostics);
        }
    }
}
