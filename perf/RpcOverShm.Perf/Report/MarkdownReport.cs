using System.Text;

namespace RpcOverShm.Perf.Report;

/// <summary>Writes the report as text for people.</summary>
internal static class MarkdownReport
{
    public static string Write(PerfReport report, IReadOnlyList<MeasuredRow> rows)
    {
        var text = new StringBuilder();
        foreach (ReportPart part in ReportParts.Of(report, rows, hasCharts: false))
        {
            text.Append('#', part.Level).Append(' ').AppendLine(part.Title).AppendLine();
            if (part.Text.Length > 0)
            {
                text.AppendLine(part.Text).AppendLine();
            }

            if (part.Rows.Count > 0)
            {
                WriteTable(text, part);
            }

            text.Append(part.Below.Length > 0 ? $"{part.Below}\n\n" : "");
        }

        return text.ToString();
    }

    private static void WriteTable(StringBuilder text, ReportPart part)
    {
        text.Append("| ").AppendJoin(" | ", part.Columns).AppendLine(" |").Append('|')
            .AppendJoin('|', part.Columns.Select((_, i) => i < part.Texts ? "---" : "---:")).AppendLine("|");
        foreach (IReadOnlyList<string> row in part.Rows)
        {
            text.Append("| ").AppendJoin(" | ", row).AppendLine(" |");
        }

        text.AppendLine();
    }
}
