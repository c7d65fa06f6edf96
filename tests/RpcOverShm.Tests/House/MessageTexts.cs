using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// The texts that code composes: string literals, interpolated strings and sums of both. A value is a hole, unless it
/// is a constant or a name.
/// </summary>
internal sealed class MessageTexts
{
    /// <summary>The sign for a value in a text.</summary>
    public const string Hole = "…";

    // A broken peer alone can cause it; all its texts are reasons of one log message.
    private const string PeerFault = "ProtocolException";

    // Texts that are never shown to a user, and log messages, which docs/observability.md lists.
    private static readonly string[] s_silentAttributes = ["LibraryImport", "SuppressMessage", "LoggerMessage"];

    private readonly IReadOnlyList<SourceFile> _files;
    private readonly Dictionary<string, string> _constants;

    public MessageTexts(IEnumerable<SourceFile> files)
    {
        _files = [.. files];
        _constants = [];
        _constants = _files.SelectMany(file => file.Root.DescendantNodes().OfType<FieldDeclarationSyntax>())
            .Where(field => field.Modifiers.Any(SyntaxKind.ConstKeyword))
            .SelectMany(field => field.Declaration.Variables)
            .Where(variable => variable.Initializer?.Value is LiteralExpressionSyntax { Token.Value: string })
            .GroupBy(variable => variable.Identifier.Text)
            .Where(group => group.Count() == 1)
            .ToDictionary(group => group.Key, group => TextOf(group.Single().Initializer!.Value));
    }

    /// <summary>Returns the texts of all files or of those that a condition selects.</summary>
    public IEnumerable<(SourceFile File, SyntaxNode Node, string Text)> All(Func<SourceFile, bool>? isWanted = null) =>
        from file in _files
        where isWanted is null || isWanted(file)
        from node in file.Root.DescendantNodes().OfType<ExpressionSyntax>()
        where IsText(node) && !(node.Parent is BinaryExpressionSyntax sum && IsText(sum)) && !IsSilent(node)
        select (file, (SyntaxNode)node, TextOf(node));

    private static bool IsText(ExpressionSyntax node) => node switch
    {
        LiteralExpressionSyntax literal => literal.Token.Value is string,
        InterpolatedStringExpressionSyntax => true,
        BinaryExpressionSyntax sum => sum.IsKind(SyntaxKind.AddExpression) && (IsText(sum.Left) || IsText(sum.Right)),
        _ => false,
    };

    private static bool IsSilent(SyntaxNode node) => node.Ancestors().Any(ancestor => ancestor switch
    {
        AttributeSyntax attribute => s_silentAttributes.Contains(attribute.Name.ToString()),
        InvocationExpressionSyntax call => call.Expression.ToString() == "Debug.Assert",
        ObjectCreationExpressionSyntax made => made.Type.ToString() == PeerFault,
        MethodDeclarationSyntax method => method.ReturnType.ToString() == PeerFault,
        _ => false,
    });

    // A constant is named alone or after its type, both in upper case.
    private string? ConstantOf(ExpressionSyntax node)
    {
        string[] names = node.ToString().Split('.');
        return names.All(name => name.Length > 0 && char.IsUpper(name[0]))
            ? _constants.GetValueOrDefault(names[^1])
            : null;
    }

    private string TextOf(ExpressionSyntax node)
    {
        var text = new StringBuilder();
        Append(node, text);
        return text.ToString();
    }

    private void Append(ExpressionSyntax node, StringBuilder text)
    {
        switch (node)
        {
            case LiteralExpressionSyntax { Token.Value: string value }:
                text.Append(value);
                break;
            case BinaryExpressionSyntax sum when IsText(sum):
                Append(sum.Left, text);
                Append(sum.Right, text);
                break;
            case InterpolatedStringExpressionSyntax interpolated:
                foreach (InterpolatedStringContentSyntax content in interpolated.Contents)
                {
                    if (content is InterpolationSyntax hole)
                    {
                        Append(hole.Expression, text);
                    }
                    else
                    {
                        text.Append(((InterpolatedStringTextSyntax)content).TextToken.ValueText);
                    }
                }

                break;
            case InvocationExpressionSyntax { Expression: IdentifierNameSyntax { Identifier.Text: "nameof" } } name:
                text.Append(name.ArgumentList.Arguments[0].ToString().Split('.')[^1]);
                break;
            default:
                text.Append(ConstantOf(node) ?? Hole);
                break;
        }
    }
}
