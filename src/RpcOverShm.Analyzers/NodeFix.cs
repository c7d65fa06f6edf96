using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;

namespace RpcOverShm.Analyzers;

/// <summary>A fix that changes one place of a document.</summary>
/// <param name="title">What the editor offers.</param>
/// <param name="rule">The rule whose findings it fixes.</param>
internal abstract class NodeFix(string title, DiagnosticDescriptor rule) : CodeFixProvider
{
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = [rule.Id];

    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        if (root is not null && Fixed(root, context) is { } changed)
        {
            context.RegisterCodeFix(
                CodeAction.Create(
                    title, _ => Task.FromResult(context.Document.WithSyntaxRoot(changed)), GetType().Name),
                context.Diagnostics);
        }
    }

    /// <summary>
    /// Returns the document with the fix; null if there is none that surely compiles and means the same.
    /// </summary>
    protected abstract SyntaxNode? Fixed(SyntaxNode root, CodeFixContext context);
}
