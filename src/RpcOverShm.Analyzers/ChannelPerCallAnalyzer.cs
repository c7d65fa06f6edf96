using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;

namespace RpcOverShm.Analyzers;

/// <summary>
/// Finds channels that are made again and again: in a service method, in a loop of unary calls to one address, and in a
/// property that returns a new one. A method that makes a channel for one call is not reported: it may run only once.
/// </summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
internal sealed class ChannelPerCallAnalyzer : DiagnosticAnalyzer
{
    private static readonly ImmutableArray<string> s_disposals = ["Dispose", "DisposeAsync", "ShutdownAsync"];

    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } = [Rules.ChannelPerCall];

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
        var creation = (IInvocationOperation)context.Operation;
        if (creation.TargetMethod.Name == "ForAddress"
            && KnownTypes.Is(creation.TargetMethod.ContainingType, types.Channel)
            && Occasion(creation, context.ContainingSymbol, types) is { } occasion)
        {
            context.ReportDiagnostic(
                Diagnostic.Create(Rules.ChannelPerCall, creation.Syntax.GetLocation(), occasion));
        }
    }

    private static string? Occasion(IInvocationOperation creation, ISymbol containingSymbol, KnownTypes types)
    {
        if (containingSymbol is IMethodSymbol { MethodKind: MethodKind.PropertyGet }
            && KnownTypes.FunctionAround(creation) is null
            && IsReturned(creation))
        {
            return "read of the property";
        }

        if (!IsDisposedLocal(creation))
        {
            return null;
        }

        if (types.IsInServiceMethod(creation, containingSymbol)
            && !IsStreaming((IMethodSymbol)containingSymbol)
            && !CallsOf(KnownTypes.Root(creation), types).Any(IsStreaming)
            && IsOfOneAddress(AddressOf(creation), null))
        {
            return "call of the service method";
        }

        return LoopAround(creation) is { } loop
            && IsOfOneAddress(AddressOf(creation), loop)
            && MakesUnaryCalls(loop, types)
            ? "turn of the loop"
            : null;
    }

    // As it is, or as the channel of a new client.
    private static bool IsReturned(IOperation creation)
    {
        IOperation? around = KnownTypes.Outside(creation);
        while (around is IArgumentOperation { Parent: IObjectCreationOperation client })
        {
            around = KnownTypes.Outside(client);
        }

        return around is IReturnOperation;
    }

    private static bool IsDisposedLocal(IInvocationOperation creation) =>
        KnownTypes.Outside(creation) is IUsingOperation
        || (KnownTypes.LocalOf(creation) is { } declarator
            && (KnownTypes.IsUsing(declarator) || IsDisposedByCall(declarator)));

    private static bool IsDisposedByCall(IVariableDeclaratorOperation declarator) =>
        KnownTypes.Root(declarator).Descendants().OfType<IInvocationOperation>()
            .Any(call => s_disposals.Contains(call.TargetMethod.Name)
                && call.Instance is { } instance
                && KnownTypes.Inside(instance) is ILocalReferenceOperation reference
                && SymbolEqualityComparer.Default.Equals(reference.Local, declarator.Symbol));

    private static ILoopOperation? LoopAround(IOperation operation)
    {
        for (IOperation? around = operation.Parent; around is not null; around = around.Parent)
        {
            if (around is ILoopOperation or IAnonymousFunctionOperation or ILocalFunctionOperation)
            {
                return around as ILoopOperation;
            }
        }

        return null;
    }

    private static IOperation AddressOf(IInvocationOperation creation) =>
        KnownTypes.FirstArgument(creation.Arguments);

    // Made of what does not change within the loop, or from one call of a service method to another if there is no
    // loop: a program may well ask one server after another.
    private static bool IsOfOneAddress(IOperation address, ILoopOperation? loop) => address.DescendantsAndSelf().All(
        part => part switch
        {
            ILocalReferenceOperation { Local: var local } =>
                !IsAssigned(local, part, loop) && (loop is null
                    ? IsFromOneAddress(local, part)
                    : !local.DeclaringSyntaxReferences.Any(place => loop.Syntax.Span.Contains(place.Span))),
            IFieldReferenceOperation { Field: var field } => !IsAssigned(field, part, loop),
            IParameterReferenceOperation { Parameter: var parameter } =>
                loop is not null && !IsAssigned(parameter, part, loop),
            ILiteralOperation or IInstanceReferenceOperation or IConversionOperation or IBinaryOperation => true,
            _ => part.ConstantValue.HasValue,
        });

    // A local of a service method that has its value from a declaration before its use.
    private static bool IsFromOneAddress(ILocalSymbol local, IOperation use) =>
        KnownTypes.Root(use).Descendants().OfType<IVariableDeclaratorOperation>().Any(declarator =>
            SymbolEqualityComparer.Default.Equals(declarator.Symbol, local)
            && declarator.Syntax.Span.End <= use.Syntax.SpanStart
            && declarator.GetVariableInitializer() is { } initializer
            && IsOfOneAddress(initializer.Value, null));

    // Within the loop, or anywhere in the method if there is none.
    private static bool IsAssigned(ISymbol variable, IOperation use, ILoopOperation? loop) =>
        (loop ?? KnownTypes.Root(use)).Descendants().Any(reference =>
            SymbolEqualityComparer.Default.Equals(VariableOf(reference), variable)
            && KnownTypes.Outside(reference) switch
            {
                IAssignmentOperation assignment => KnownTypes.Inside(assignment.Target) == reference,
                IArgumentOperation argument => argument.Parameter is { RefKind: RefKind.Ref or RefKind.Out },
                IIncrementOrDecrementOperation or ITupleOperation => true,
                _ => false,
            });

    private static ISymbol? VariableOf(IOperation reference) => reference switch
    {
        ILocalReferenceOperation { Local: var local } => local,
        IFieldReferenceOperation { Field: var field } => field,
        IParameterReferenceOperation { Parameter: var parameter } => parameter,
        _ => null,
    };

    // A loop inside of it, or a stream, may make the channel last.
    private static bool MakesUnaryCalls(ILoopOperation loop, KnownTypes types)
    {
        IMethodSymbol[] calls = [.. CallsOf(loop.Body, types)];
        return calls.Length > 0
            && !calls.Any(IsStreaming)
            && !loop.Body.Descendants().OfType<ILoopOperation>().Any();
    }

    private static IEnumerable<IMethodSymbol> CallsOf(IOperation body, KnownTypes types) =>
        body.Descendants().OfType<IInvocationOperation>().Select(call => call.TargetMethod)
            .Where(method => types.IsClient(method.ContainingType));

    // A method of a client, or of a service.
    private static bool IsStreaming(IMethodSymbol method) =>
        method.ReturnType.Name.EndsWith("StreamingCall", StringComparison.Ordinal)
        || method.Parameters.Any(parameter => parameter.Type.Name is "IAsyncStreamReader" or "IServerStreamWriter");
}
