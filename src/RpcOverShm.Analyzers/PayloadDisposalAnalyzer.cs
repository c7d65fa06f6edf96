using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;

namespace RpcOverShm.Analyzers;

/// <summary>
/// Finds payloads that a method receives or makes, only looks at and sends, and never disposes. A payload that goes
/// anywhere else, such as into a field, another method or a return, may be disposed there, and is not reported.
/// </summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
internal sealed class PayloadDisposalAnalyzer : DiagnosticAnalyzer
{
    /// <summary>The property of a diagnostic whose payload is in use when its block ends: it has no fix.</summary>
    internal const string Outlives = "Outlives";

    private static readonly ImmutableDictionary<string, string?> s_outlives =
        ImmutableDictionary<string, string?>.Empty.Add(Outlives, null);

    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } = [Rules.PayloadNotDisposed];

    public override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterCompilationStartAction(start =>
        {
            if (KnownTypes.Find(start.Compilation) is { } types)
            {
                start.RegisterOperationAction(
                    operation => CheckLocal(operation, types), OperationKind.VariableDeclarator);
                start.RegisterOperationAction(
                    operation => CheckUnnamed(operation, types), OperationKind.Invocation, OperationKind.Await);
            }
        });
    }

    private static void CheckLocal(OperationAnalysisContext context, KnownTypes types)
    {
        var declarator = (IVariableDeclaratorOperation)context.Operation;
        if (!KnownTypes.Is(declarator.Symbol.Type, types.Payload) || KnownTypes.IsUsing(declarator))
        {
            return;
        }

        bool isOwner = declarator.GetVariableInitializer() is { } initializer
            ? IsOwned(KnownTypes.Inside(initializer.Value), types)
            : declarator.Parent is IForEachLoopOperation { Collection: var all } && IsReadAll(all);
        if (isOwner && !IsDisposedOrPassedOn(declarator, types))
        {
            context.ReportDiagnostic(Diagnostic.Create(
                Rules.PayloadNotDisposed,
                declarator.Symbol.Locations[0],
                ReferencesTo(declarator).Any(MayOutliveItsBlock) ? s_outlives : null,
                $"'{declarator.Symbol.Name}'"));
        }
    }

    // A payload without a name, of which only a member is used, or nothing.
    private static void CheckUnnamed(OperationAnalysisContext context, KnownTypes types)
    {
        IOperation value = context.Operation;
        if (!KnownTypes.Is(value.Type, types.Payload) || !IsOwned(value, types))
        {
            return;
        }

        bool isLost = KnownTypes.Outside(value) switch
        {
            IExpressionStatementOperation => true,
            IPropertyReferenceOperation => true,
            IInvocationOperation { Instance: { } instance, TargetMethod.Name: not "Dispose" } =>
                KnownTypes.Inside(instance) == value,
            _ => false,
        };
        if (isLost)
        {
            context.ReportDiagnostic(Diagnostic.Create(
                Rules.PayloadNotDisposed, value.Syntax.GetLocation(), "This payload"));
        }
    }

    /// <summary>Whether an expression makes a payload with pooled arrays, or receives one.</summary>
    private static bool IsOwned(IOperation value, KnownTypes types) => value switch
    {
        IInvocationOperation { TargetMethod: { Name: "CopyOf", ContainingType: var type } } =>
            KnownTypes.Is(type, types.Payload),
        IInvocationOperation { TargetMethod: { Name: "BlockingUnaryCall", ContainingType: var type } } =>
            KnownTypes.Is(type, types.CallInvoker),
        IPropertyReferenceOperation { Property: { Name: "Current", ContainingType: var type } } =>
            KnownTypes.Is(type, types.StreamReader),
        IAwaitOperation { Operation: var awaited } => IsAwaitedOwned(KnownTypes.Inside(awaited), types),
        _ => false,
    };

    private static bool IsAwaitedOwned(IOperation awaited, KnownTypes types) => awaited switch
    {
        IInvocationOperation { TargetMethod.Name: "ConfigureAwait", Instance: { } task } =>
            IsAwaitedOwned(KnownTypes.Inside(task), types),
        IInvocationOperation { TargetMethod: { Name: "ReadAsync", ContainingType: var type } } =>
            KnownTypes.Is(type, types.Payload),
        IPropertyReferenceOperation { Property.Name: "ResponseAsync", Instance: { } call } => IsCall(call.Type),
        _ => IsCall(awaited.Type),
    };

    private static bool IsCall(ITypeSymbol? type) =>
        type is { Name: "AsyncUnaryCall" or "AsyncClientStreamingCall", ContainingNamespace.Name: "Core" };

    private static bool IsReadAll(IOperation all) =>
        KnownTypes.Inside(all) is IInvocationOperation { TargetMethod: { Name: "ReadAllAsync" } method }
        && method.ContainingNamespace.ToDisplayString() == "Grpc.Core";

    private static bool IsDisposedOrPassedOn(IVariableDeclaratorOperation declarator, KnownTypes types) =>
        ReferencesTo(declarator).Any(reference => !IsOnlyUsed(reference, declarator, types));

    private static IEnumerable<ILocalReferenceOperation> ReferencesTo(IVariableDeclaratorOperation declarator) =>
        KnownTypes.Root(declarator).Descendants().OfType<ILocalReferenceOperation>()
            .Where(reference => SymbolEqualityComparer.Default.Equals(reference.Local, declarator.Symbol));

    // A call with it, or a method of it, returns something to wait for, and is not awaited where it stands.
    private static bool MayOutliveItsBlock(ILocalReferenceOperation reference)
    {
        IOperation? used = KnownTypes.Outside(reference);
        if ((used is IArgumentOperation ? used.Parent : used) is not IInvocationOperation { Type: { } type } call
            || !type.GetMembers().Any(member => member.Name == "GetAwaiter" || member.Name == "RequestStream"
                || member.Name == "ResponseStream"))
        {
            return false;
        }

        IOperation? around = KnownTypes.Outside(call);
        while (around is IPropertyReferenceOperation { Property.Name: "ResponseAsync" }
            or IInvocationOperation { TargetMethod.Name: "ConfigureAwait" })
        {
            around = KnownTypes.Outside(around);
        }

        return around is not IAwaitOperation;
    }

    // Members but Dispose are used; those who send it leave it to the caller.
    private static bool IsOnlyUsed(
        ILocalReferenceOperation reference, IVariableDeclaratorOperation declarator, KnownTypes types)
    {
        bool isCaptured = KnownTypes.FunctionAround(reference) != KnownTypes.FunctionAround(declarator);
        return !isCaptured && KnownTypes.Outside(reference) switch
        {
            IPropertyReferenceOperation => true,
            IInvocationOperation { TargetMethod.Name: not "Dispose" } => true,
            IArgumentOperation { Parent: IInvocationOperation { TargetMethod: { } method } } =>
                KnownTypes.Is(method.ContainingType, types.StreamWriter)
                || KnownTypes.Is(method.ContainingType, types.CallInvoker),
            _ => false,
        };
    }
}
