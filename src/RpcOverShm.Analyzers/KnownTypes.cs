using System.Collections.Immutable;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace RpcOverShm.Analyzers;

/// <summary>The types of RpcOverShm and gRPC in a compilation, and facts about their members.</summary>
internal sealed class KnownTypes
{
    private readonly INamedTypeSymbol _clientBase;
    private readonly INamedTypeSymbol _serverCallContext;

    private KnownTypes(Compilation compilation, INamedTypeSymbol clientBase, INamedTypeSymbol serverCallContext)
    {
        _clientBase = clientBase;
        _serverCallContext = serverCallContext;
        Channel = compilation.GetTypeByMetadataName("RpcOverShm.ShmChannel");
        Session = compilation.GetTypeByMetadataName("RpcOverShm.ShmSession");
        Payload = compilation.GetTypeByMetadataName("RpcOverShm.ShmPayload");
        CallInvoker = compilation.GetTypeByMetadataName("Grpc.Core.CallInvoker");
        StreamReader = compilation.GetTypeByMetadataName("Grpc.Core.IAsyncStreamReader`1");
        StreamWriter = compilation.GetTypeByMetadataName("Grpc.Core.IAsyncStreamWriter`1");
    }

    public INamedTypeSymbol? Channel { get; }

    public INamedTypeSymbol? Session { get; }

    public INamedTypeSymbol? Payload { get; }

    public INamedTypeSymbol? CallInvoker { get; }

    public INamedTypeSymbol? StreamReader { get; }

    public INamedTypeSymbol? StreamWriter { get; }

    /// <summary>Returns the types; null if the compilation does not use RpcOverShm.</summary>
    public static KnownTypes? Find(Compilation compilation) =>
        compilation.GetTypeByMetadataName("Grpc.Core.ClientBase") is { } clientBase
        && compilation.GetTypeByMetadataName("Grpc.Core.ServerCallContext") is { } serverCallContext
        && new KnownTypes(compilation, clientBase, serverCallContext) is { Channel: not null } types
            ? types
            : null;

    public static bool Is(ITypeSymbol? type, INamedTypeSymbol? known) =>
        known is not null && SymbolEqualityComparer.Default.Equals(type?.OriginalDefinition, known);

    /// <summary>Whether a type is a generated client.</summary>
    public bool IsClient(ITypeSymbol? type)
    {
        for (; type is not null; type = type.BaseType)
        {
            if (Is(type, _clientBase))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether a method of a generated client blocks: it has a sibling that is awaited.</summary>
    public bool IsBlockingCall(IMethodSymbol method) => !method.IsStatic
        && IsClient(method.ContainingType)
        && !method.ContainingType.GetMembers(method.Name + "Async").IsEmpty;

    /// <summary>Whether code stands in a service method itself, and not in a function inside of it.</summary>
    public bool IsInServiceMethod(IOperation operation, ISymbol containingSymbol) =>
        containingSymbol is IMethodSymbol { Parameters.IsEmpty: false } method
        && Is(method.Parameters[method.Parameters.Length - 1].Type, _serverCallContext)
        && FunctionAround(operation) is null;

    /// <summary>The lambda or local function that an operation stands in; null for the method itself.</summary>
    public static IOperation? FunctionAround(IOperation operation)
    {
        IOperation? around = operation.Parent;
        while (around is not (null or IAnonymousFunctionOperation or ILocalFunctionOperation))
        {
            around = around.Parent;
        }

        return around;
    }

    /// <summary>The value of the first parameter, which an extension method has for its receiver.</summary>
    public static IOperation FirstArgument(ImmutableArray<IArgumentOperation> arguments) =>
        arguments.First(argument => argument.Parameter?.Ordinal == 0).Value;

    /// <summary>The expression without conversions and parentheses around it.</summary>
    public static IOperation Inside(IOperation operation)
    {
        while (operation is IConversionOperation or IParenthesizedOperation)
        {
            operation = operation is IConversionOperation conversion
                ? conversion.Operand
                : ((IParenthesizedOperation)operation).Operand;
        }

        return operation;
    }

    /// <summary>The parent of an expression, past conversions and parentheses.</summary>
    public static IOperation? Outside(IOperation operation)
    {
        IOperation? parent = operation.Parent;
        while (parent is IConversionOperation or IParenthesizedOperation)
        {
            parent = parent.Parent;
        }

        return parent;
    }

    /// <summary>The body of the method around an operation.</summary>
    public static IOperation Root(IOperation operation)
    {
        while (operation.Parent is { } parent)
        {
            operation = parent;
        }

        return operation;
    }

    /// <summary>The local variable that an expression initialises, if it does, and its declaration.</summary>
    public static IVariableDeclaratorOperation? LocalOf(IOperation value) =>
        Outside(value) is IVariableInitializerOperation { Parent: IVariableDeclaratorOperation declarator }
            ? declarator
            : null;

    /// <summary>Whether a variable is declared with <c>using</c>.</summary>
    public static bool IsUsing(IVariableDeclaratorOperation declarator)
    {
        IOperation? group = declarator.Parent?.Parent;
        return group?.Parent is IUsingDeclarationOperation or IUsingOperation;
    }
}
