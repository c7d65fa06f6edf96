using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>Parses the parts of documents that the rules check: fences, headings, links.</summary>
internal static partial class MarkdownText
{
    private const string Fence = "```";

    /// <summary>Returns the lines outside of fences with their line numbers, from 1.</summary>
    public static IEnumerable<(int Number, string Text)> Prose(SourceFile file)
    {
        bool isInFence = false;
        foreach ((int index, string line) in file.Lines.Index())
        {
            if (line.TrimStart().StartsWith(Fence, StringComparison.Ordinal))
            {
                isInFence = !isInFence;
            }
            else if (!isInFence)
            {
                yield return (index + 1, line);
            }
        }
    }

    /// <summary>Checks that a document has one title and starts with it.</summary>
    public static IEnumerable<string> Titles(SourceFile file)
    {
        int[] titles =
        [
            .. Prose(file).Where(line => line.Text.StartsWith("# ", StringComparison.Ordinal))
                .Select(line => line.Number),
        ];
        return titles is [1]
            ? []
            : [file.At(titles.LastOrDefault(1), $"{titles.Length} titles; one, in the first line.")];
    }

    /// <summary>Returns links to missing files; web addresses are not checked.</summary>
    public static IEnumerable<string> BrokenLinks(SourceFile file, Func<string, bool> exists) =>
        from line in Prose(file)
        from Match match in Link().Matches(CodeSpan().Replace(line.Text, ""))
        let target = match.Groups["target"].Value
        where !target.Contains(':', StringComparison.Ordinal)
        let path = target.Split('#')[0]
        where path.Length > 0 && !exists(Resolve(file.Folder, path))
        select file.At(line.Number, $"There is no '{path}' where the link points.");

    /// <summary>Returns links to sections that their document does not have.</summary>
    /// <param name="file">The document with the links.</param>
    /// <param name="read">Returns a document by its path from the root, or null.</param>
    public static IEnumerable<string> BrokenAnchors(SourceFile file, Func<string, SourceFile?> read) =>
        from line in Prose(file)
        from Match match in Link().Matches(CodeSpan().Replace(line.Text, ""))
        let parts = match.Groups["target"].Value.Split('#')
        where parts.Length == 2 && !parts[0].Contains(':', StringComparison.Ordinal)
        let document = parts[0].Length == 0 ? file : read(Resolve(file.Folder, parts[0]))
        where document is not null && !Anchors(document).Contains(parts[1])
        select file.At(line.Number, $"{document.Path} has no section '#{parts[1]}'.");

    /// <summary>Returns the anchors of the headings, as GitHub makes them.</summary>
    private static HashSet<string> Anchors(SourceFile file)
    {
        var anchors = new HashSet<string>();
        foreach ((_, string line) in Prose(file).Where(line => Heading().IsMatch(line.Text)))
        {
            string text = LinkInHeading().Replace(Heading().Replace(line, ""), "$1");
            string anchor = NotOfAnchors().Replace(text.ToLowerInvariant(), "").Replace(' ', '-');
            string unique = anchor;
            for (int i = 1; !anchors.Add(unique); i++)
            {
                unique = $"{anchor}-{i}";
            }
        }

        return anchors;
    }

    private static string Resolve(string folder, string path)
    {
        var parts = new List<string>(
            path.StartsWith('/') ? [] : folder.Split('/', StringSplitOptions.RemoveEmptyEntries));
        foreach (string part in path.Split('/', StringSplitOptions.RemoveEmptyEntries))
        {
            if (part == "..")
            {
                // A link that leads out of the repository resolves to nothing.
                if (parts.Count == 0)
                {
                    return "..";
                }

                parts.RemoveAt(parts.Count - 1);
            }
            else if (part != ".")
            {
                parts.Add(part);
            }
        }

        return string.Join('/', parts);
    }

    [GeneratedRegex(@"\]\((?<target>[^)\s]+)[^)]*\)|^\[[^\]]+\]:\s+(?<target>\S+)")]
    private static partial Regex Link();

    [GeneratedRegex("`[^`]*`")]
    private static partial Regex CodeSpan();

    [GeneratedRegex("^#{1,6} +")]
    private static partial Regex Heading();

    [GeneratedRegex(@"\[([^\]]*)\]\([^)]*\)")]
    private static partial Regex LinkInHeading();

    [GeneratedRegex(@"[^\p{L}\p{N}_ -]")]
    private static partial Regex NotOfAnchors();
}
