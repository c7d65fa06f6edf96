using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Compares the messages in the tables of a document with those of the code. A message is the code span in the first
/// cell of a row.
/// </summary>
internal static partial class MessageRules
{
    private const int FewestWords = 4;

    /// <summary>Messages of the document that no code composes.</summary>
    public static IEnumerable<string> Untrue(SourceFile document, MessageTexts texts)
    {
        string[] all = [.. texts.All().Select(text => text.Text)];
        return
            from row in Rows(document)
            from part in Parts(row.Message, 2)
            where !all.Any(text => text.Contains(part, StringComparison.Ordinal))
            select document.At(row.Line, $"No code composes '{part}'.");
    }

    /// <summary>Texts of the code that no message of the document contains.</summary>
    public static IEnumerable<string> Missing(
        SourceFile document, MessageTexts texts, Func<SourceFile, bool> isWanted)
    {
        string[] messages = [.. Rows(document).Select(row => row.Message)];
        return
            from text in texts.All(isWanted)
            let parts = Parts(text.Text, FewestWords).ToArray()
            where parts.Length > 0 && !messages.Any(message => HasAll(message, parts))
            select text.File.At(text.Node, $"{document.Path} lacks '{text.Text}'.");
    }

    private static IEnumerable<(int Line, string Message)> Rows(SourceFile document) =>
        from line in document.Lines.Index()
        let row = Row().Match(line.Item)
        where row.Success
        select (line.Index + 1, row.Groups["text"].Value);

    // The parts between holes, without the punctuation around them.
    private static IEnumerable<string> Parts(string text, int fewestWords) =>
        text.Split(MessageTexts.Hole).Select(part => part.Trim(' ', '.', ',', ':', ';', '(', ')', '\''))
            .Where(part => part.Split(' ').Length >= fewestWords);

    private static bool HasAll(string message, string[] parts) =>
        parts.All(part => message.Contains(part, StringComparison.Ordinal));

    [GeneratedRegex(@"^\| `(?<text>[^`]+)`")]
    private static partial Regex Row();
}
