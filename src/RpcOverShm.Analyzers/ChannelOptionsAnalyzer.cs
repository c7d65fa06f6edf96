using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;

namespace RpcOverShm.Analyzers;

/// <summary>
/// Says of options that were taken over from a channel of Grpc.Net.Client why the compiler does not know them.
/// </summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
internal sealed class ChannelOptionsAnalyzer : DiagnosticAnalyzer
{
    private const string NoHttp = "there is no HTTP below these calls; remove it";

    private static readonly ImmutableDictionary<string, string> s_channel = ImmutableDictionary<string, string>.Empty
        .Add("HttpHandler", NoHttp)
        .Add("HttpClient", NoHttp)
        .Add("DisposeHttpClient", NoHttp)
        .Add("HttpVersion", NoHttp)
        .Add("HttpVersionPolicy", NoHttp)
        .Add("CompressionProviders", "gzip is built in; remove it")
        .Add("UnsafeUseInsecureChannelCallCredentials", "call credentials apply without TLS; remove it")
        .Add("ServiceProvider", "a container makes channels with AddShmClient of RpcOverShm.Hosting; remove it");

    private static readonly ImmutableDictionary<string, string> s_service = ImmutableDictionary<string, string>.Empty
        .Add("LoadBalancingConfigs", "one address is one server; remove it");

    private static readonly ImmutableDictionary<string, string> s_method = ImmutableDictionary<string, string>.Empty
        .Add("HedgingPolicy", "a call that failed may be tried again; use RetryPolicy");

    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } =
        [Rules.OptionWithoutCounterpart];

    public override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterSyntaxNodeAction(Check, SyntaxKind.SimpleAssignmentExpression);
    }

    private static void Check(SyntaxNodeAnalysisContext context)
    {
        var assignment = (AssignmentExpressionSyntax)context.Node;
        SimpleNameSyntax? option = assignment.Left switch
        {
            IdentifierNameSyntax name when assignment.Parent.IsKind(SyntaxKind.ObjectInitializerExpression) => name,
            MemberAccessExpressionSyntax access => access.Name,
            _ => null,
        };
        if (option is null || !IsAnyOption(option.Identifier.Text))
        {
            return;
        }

        SyntaxNode? owner = assignment.Left is MemberAccessExpressionSyntax member
            ? member.Expression
            : assignment.Parent!.Parent as BaseObjectCreationExpressionSyntax;
        if (owner is not null
            && context.SemanticModel.GetTypeInfo(owner, context.CancellationToken).Type is { } type
            && OptionsOf(type)?.GetValueOrDefault(option.Identifier.Text) is { } advice
            && context.SemanticModel.GetSymbolInfo(option, context.CancellationToken).Symbol is null)
        {
            context.ReportDiagnostic(Diagnostic.Create(
                Rules.OptionWithoutCounterpart, option.GetLocation(), option.Identifier.Text, advice));
        }
    }

    private static bool IsAnyOption(string name) =>
        s_channel.ContainsKey(name) || s_service.ContainsKey(name) || s_method.ContainsKey(name);

    private static ImmutableDictionary<string, string>? OptionsOf(ITypeSymbol type) =>
        type.ContainingNamespace is { Name: "RpcOverShm", ContainingNamespace.IsGlobalNamespace: true }
            ? type.Name switch
            {
                "ShmChannelOptions" => s_channel,
                "ShmServiceConfig" => s_service,
                "ShmMethodConfig" => s_method,
                _ => null,
            }
            : null;
}
