namespace RpcOverShm.Perf.Report;

/// <summary>Findings that have columns of their own. The first column is text, the others are numbers.</summary>
/// <param name="Title">The heading.</param>
/// <param name="Note">What a reader must know first.</param>
/// <param name="Columns">The headings of the columns.</param>
/// <param name="Rows">Each with as many cells as there are columns.</param>
internal sealed record ReportTable(
    string Title, string Note, IReadOnlyList<string> Columns, IReadOnlyList<IReadOnlyList<string>> Rows);
