using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Analyzers;

/// <summary>Declares a payload with <c>using</c>.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
internal sealed class DisposePayloadFix : CodeFixProvider
{
    private const string Title = "Declare it with 'using'";

    public override ImmutableArray<string> FixableDiagnosticIds { get; } = [Rules.PayloadNotDisposed.Id];

    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        if (!context.Diagnostics.Any(found => found.Properties.ContainsKey(PayloadDisposalAnalyzer.Outlives))
            && root?.FindNode(context.Span) is VariableDeclaratorSyntax
            {
                Parent: VariableDeclarationSyntax
                {
                    Variables.Count: 1,
                    Parent: LocalDeclarationStatementSyntax
                    {
                        Parent: BlockSyntax or GlobalStatementSyntax,
                    } statement,
                },
            })
        {
            context.RegisterCodeFix(
                CodeAction.Create(
                    Title,
                    _ => Task.FromResult(
                        context.Document.WithSyntaxRoot(root.ReplaceNode(statement, Using(statement)))),
                    nameof(DisposePayloadFix)),
                context.Diagnostics);
        }
    }

    private static LocalDeclarationStatementSyntax Using(LocalDeclarationStatementSyntax statement) => statement
        .WithoutLeadingTrivia()
        .WithUsingKeyword(SyntaxFactory.Token(SyntaxKind.UsingKeyword).WithTrailingTrivia(SyntaxFactory.Space))
        .WithLeadingTrivia(statement.GetLeadingTrivia());
}
