namespace RpcOverShm.Tests.House;

/// <summary>Reads the tables of documents that tests compare with the code.</summary>
internal static class MarkdownTable
{
    /// <summary>Returns the cells of the first table under a heading, without its two header lines.</summary>
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

    /// <summary>
    /// Returns the rows of all tables, without their two header lines, with their line numbers and the headings above
    /// them.
    /// </summary>
    public static IEnumerable<(int Number, string Heading, string[] Cells)> Rows(SourceFile file)
    {
        string heading = "";
        int lines = 0;
        foreach ((int number, string text) in MarkdownText.Prose(file))
        {
            heading = text.StartsWith('#') ? text : heading;
            lines = text.StartsWith('|') ? lines + 1 : 0;
            if (lines > 2)
            {
                yield return (number, heading, Cells(text));
            }
        }
    }

    private static string[] Cells(string row) =>
        [.. row.Trim('|').Split('|').Select(cell => cell.Trim())];
}
