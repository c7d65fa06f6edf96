using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;

namespace RpcOverShm.Analyzers;

/// <summary>
/// Finds blocking calls of a service method to the client that has called it. Only clients whose invoker is seen to
/// come from the session count: calls to other servers may have a reason to block.
/// </summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
internal sealed class BlockingCallbackAnalyzer : DiagnosticAnalyzer
{
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } = [Rules.BlockingCallback];

    public override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterCompilationStartAction(start =>
        {
            if (KnownTypes.Find(start.Compilation) is { } types)
            {
                start.RegisterOperationAction(operation => Check(operation, types), OperationKind.Invocation);
            }
        });
    }

    private static void Check(OperationAnalysisContext context, KnownTypes types)
    {
        var call = (IInvocationOperation)context.Operation;
        if (call.Instance is { } client
            && types.IsBlockingCall(call.TargetMethod)
            && types.IsInServiceMethod(call, context.ContainingSymbol)
            && IsOfSession(client, types))
        {
            context.ReportDiagnostic(
                Diagnostic.Create(Rules.BlockingCallback, call.Syntax.GetLocation(), call.TargetMethod.Name));
        }
    }

    // A client, or the invoker that it was created with.
    private static bool IsOfSession(IOperation value, KnownTypes types) => KnownTypes.Inside(value) switch
    {
        IInvocationOperation { TargetMethod: { Name: "CreateCallInvoker", ContainingType: var type } } =>
            KnownTypes.Is(type, types.Session),
        IInvocationOperation { TargetMethod: { Name: "Intercept", IsStatic: true } } intercepted =>
            IsOfSession(KnownTypes.FirstArgument(intercepted.Arguments), types),
        IObjectCreationOperation { Arguments.IsEmpty: false } created when types.IsClient(created.Type) =>
            IsOfSession(KnownTypes.FirstArgument(created.Arguments), types),
        ILocalReferenceOperation { Local: var local } => InitialValue(local, value) is { } initial
            && IsOfSession(initial, types),
        _ => false,
    };

    private static IOperation? InitialValue(ILocalSymbol local, IOperation place) =>
        local.DeclaringSyntaxReferences.FirstOrDefault()?.GetSyntax() is { } declaration
        && place.SemanticModel?.GetOperation(declaration) is IVariableDeclaratorOperation declarator
            ? declarator.GetVariableInitializer()?.Value
            : null;
}
