namespace RpcOverShm.Perf.Report;

/// <summary>
/// A part of the report for people: a heading, and below it text, bars, charts and a table, all optional. Text and
/// cells may have Markdown's links, code and bold letters. The text is one paragraph, or a list with "- " in each line.
/// </summary>
internal sealed record ReportPart(string Title, string Text = "")
{
    /// <summary>The level of the heading.</summary>
    public int Level { get; init; } = 2;

    /// <summary>Bars on one axis: a name, an arm for the colour, and microseconds.</summary>
    public IReadOnlyList<(string Name, string Arm, double Us)> Bars { get; init; } = [];

    public IReadOnlyList<Chart> Charts { get; init; } = [];

    public IReadOnlyList<string> Columns { get; init; } = [];

    public IReadOnlyList<IReadOnlyList<string>> Rows { get; init; } = [];

    /// <summary>The number of columns with text; the others have numbers.</summary>
    public int Texts { get; init; } = 1;

    /// <summary>A paragraph below the table.</summary>
    public string Below { get; init; } = "";

    /// <summary>Whether the page shows the part only on a click.</summary>
    public bool IsFolded { get; init; }

    /// <summary>The anchor for links, made from the heading as GitHub makes it.</summary>
    public string Anchor => new(
    [
        .. Title.ToLowerInvariant().Replace(' ', '-')
            .Where(letter => char.IsLetterOrDigit(letter) || letter is '-' or '_'),
    ]);

    /// <summary>Whether there is nothing below the heading.</summary>
    public bool IsEmpty => Text.Length == 0 && Charts.Count == 0 && Rows.Count == 0;
}
