namespace RpcOverShm.Tests.House;

/// <summary>The tables of documents that are held to the code.</summary>
internal static class MarkdownTable
{
    /// <summary>The cells of the first table under a heading, without its two head lines.</summary>
    public static IReadOnlyList<string[]> RowsUnder(string markdown, string heading)
    {
        string[] section =
        [
            .. markdown.Split('\n').Select(line => line.TrimEnd()).SkipWhile(line => line != heading).Skip(1)
                .TakeWhile(line => !line.StartsWith('#')),
        ];
        string[][] rows =
        [
            .. section.SkipWhile(line => !line.StartsWith('|')).TakeWhile(line => line.StartsWith('|')).Skip(2)
                .Select(Cells),
        ];
        return rows.Length > 0 ? rows : throw new FormatException($"There is no table under '{heading}'.");
    }

    private static string[] Cells(string row) =>
        [.. row.Trim('|').Split('|').Select(cell => cell.Trim())];
}
