using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Checks code that documents quote. A line <c>&lt;!-- snippet: path --&gt;</c> before a fence declares that the fence
/// contains the whole file; <c>path#name</c> declares that it contains the lines between <c>// snippet: name</c> and
/// <c>// end snippet</c>, which are comments of Visual Basic there. The file is compiled, so it is right if the two
/// differ.
/// </summary>
internal static partial class Snippets
{
    private const string FenceEnd = "```";

    /// <summary>Quotations that differ from their source, and fences of .NET's languages without one.</summary>
    /// <param name="document">The Markdown.</param>
    /// <param name="read">Returns the text of a file by its path from the root, or null.</param>
    public static IEnumerable<string> Check(SourceFile document, Func<string, string?> read)
    {
        string[] lines = document.Lines;
        for (int i = 0; i < lines.Length; i++)
        {
            Match marker = Marker().Match(lines[i]);
            if (marker.Success)
            {
                bool isFenced = i + 1 < lines.Length && lines[i + 1].StartsWith(FenceEnd, StringComparison.Ordinal);
                string quoted = isFenced ? FencedAt(lines, i + 1) : "";
                string? source = Source(marker.Groups[1].Value, marker.Groups[2].Value, read);
                if (source is null || !isFenced || quoted != source)
                {
                    yield return document.At(i + 1, Explain(marker.Value, source, quoted));
                }
            }
            else if (CodeFence().IsMatch(lines[i]) && (i == 0 || !Marker().IsMatch(lines[i - 1])))
            {
                yield return document.At(i + 1, "Code without a snippet marker before it: nothing compiles it.");
            }
        }
    }

    /// <summary>Quotations that make a server, a listener or their options without a logger.</summary>
    public static IEnumerable<string> ServersWithoutLogger(SourceFile document)
    {
        string[] lines = document.Lines;
        for (int i = 0; i < lines.Length - 1; i++)
        {
            string code = Marker().IsMatch(lines[i]) ? FencedAt(lines, i + 1) : "";
            if (Server().IsMatch(code) && !code.Contains("LoggerFactory", StringComparison.Ordinal))
            {
                yield return document.At(i + 1, "A server without a LoggerFactory: its failures leave no trace.");
            }
        }
    }

    /// <summary>Returns the number of quotations.</summary>
    public static int Count(SourceFile document) => document.Lines.Count(line => Marker().IsMatch(line));

    private static string FencedAt(string[] lines, int fence) =>
        string.Join('\n', lines.Skip(fence + 1).TakeWhile(line => line != FenceEnd));

    private static string? Source(string path, string region, Func<string, string?> read)
    {
        if (read(path) is not { } text)
        {
            return null;
        }

        if (region.Length == 0)
        {
            return text.TrimEnd('\n');
        }

        string[] lines =
        [
            .. text.Split('\n').SkipWhile(line => !IsComment(line, $"snippet: {region}")).Skip(1)
                .TakeWhile(line => !IsComment(line, "end snippet")),
        ];
        int indent = lines.Where(line => line.Length > 0).Select(line => line.Length - line.TrimStart().Length)
            .DefaultIfEmpty().Min();
        return lines.Length == 0
            ? null
            : string.Join('\n', lines.Select(line => line.Length > indent ? line[indent..] : ""));
    }

    private static bool IsComment(string line, string text) =>
        line.Trim() is var comment && (comment == $"// {text}" || comment == $"' {text}");

    private static string Explain(string marker, string? source, string quoted)
    {
        if (source is null)
        {
            return $"{marker} names no file or no part of one.";
        }

        string? wanted = source.Split('\n').Except(quoted.Split('\n')).FirstOrDefault();
        return $"The code below {marker} is not that of its source, which has: {wanted ?? "the same lines otherwise"}";
    }

    [GeneratedRegex(@"^<!-- snippet: ([^\s#]+)(?:#(\S+))? -->$")]
    private static partial Regex Marker();

    [GeneratedRegex(@"\bnew Shm(?:Server|StreamListener)(?:Options)?\b")]
    private static partial Regex Server();

    // Every name by which renderers know the languages, in both kinds of fences.
    [GeneratedRegex(
        @"^\s*(?:```|~~~)\s*(?:csharp|cs|c#|fsharp|fs|f#|vb|vbnet|visualbasic)\s*$", RegexOptions.IgnoreCase)]
    private static partial Regex CodeFence();
}
