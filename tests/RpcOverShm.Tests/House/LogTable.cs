using System.Globalization;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Compares the table of log entries in docs/observability.md with the source-generated messages: each has its row, in
/// the order of the ids, with the level and the text that the code has.
/// </summary>
internal static class LogTable
{
    private const string AnyLevel = "varies";

    /// <summary>Returns the messages of a file, in its order.</summary>
    public static LogMessage[] Messages(SourceFile file) =>
    [
        .. from attribute in file.Root.DescendantNodes().OfType<AttributeSyntax>()
           where attribute.Name.ToString() == "LoggerMessage"
           let arguments = attribute.ArgumentList!.Arguments.Select(argument => argument.Expression).ToArray()
           let id = (LiteralExpressionSyntax)arguments[0]
           let level = arguments.OfType<MemberAccessExpressionSyntax>().SingleOrDefault()?.Name.Identifier.Text
           select new LogMessage((int)id.Token.Value!, level ?? AnyLevel, TextOf(arguments[^1])),
    ];

    /// <summary>Returns what differs between the messages and the rows of the table.</summary>
    public static IEnumerable<string> Check(IReadOnlyList<LogMessage> messages, IReadOnlyList<string[]> rows)
    {
        string[] documented = [.. rows.Select(row => string.Join(" | ", row.Take(3)))];
        string[] actual = [.. messages.OrderBy(message => message.Id).Select(message => message.ToString())];
        return messages.CountBy(message => message.Id).Where(id => id.Value > 1)
            .Select(id => $"Id {id.Key} is used twice.")
            .Concat(actual.Except(documented).Select(row => $"There is no row: {row}"))
            .Concat(documented.Except(actual).Select(row => $"The code has no such message: {row}"))
            .Concat(documented.SequenceEqual(documented.OrderBy(IdOf))
                ? []
                : ["The rows are not in the order of the ids."])
            .Concat(rows.Where(row => row.Length != 5 || row.Any(cell => cell.Length == 0))
                .Select(row => $"A row without a meaning, or without what to do: {row[0]}"));
    }

    private static int IdOf(string row) => int.Parse(row.Split(' ')[0], CultureInfo.InvariantCulture);

    private static string TextOf(ExpressionSyntax text) =>
        string.Concat(
            text.DescendantNodesAndSelf().OfType<LiteralExpressionSyntax>().Select(part => part.Token.ValueText));
}

/// <summary>A message with its stable id.</summary>
internal sealed record LogMessage(int Id, string Level, string Text)
{
    public override string ToString() => $"{Id} | {Level} | {Text}";
}
