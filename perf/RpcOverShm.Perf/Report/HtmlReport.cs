using System.Net;
using System.Text;
using System.Text.RegularExpressions;

namespace RpcOverShm.Perf.Report;

/// <summary>
/// Writes the report as one self-contained page: no script, no font, no picture. The page and its charts follow the
/// reader's light or dark theme.
/// </summary>
internal static partial class HtmlReport
{
    private const string Style = """
        :root{color-scheme:light dark;--ink:#111;--page:#fff;--line:#ccc;--link:#06c}
        @media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--page:#15171a;--line:#3d4046;--link:#6ae}}
        body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:70rem;
          margin:0 auto;padding:1rem}
        a{color:var(--link)}p,li{max-width:48rem;overflow-wrap:anywhere}
        h1{font-size:1.6rem}h2{margin-top:2.2rem;border-bottom:2px solid}h3{margin:.8rem 0 .4rem}
        .scroll{overflow-x:auto;margin:.6rem 0}
        table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
        th,td{padding:.2rem .55rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;
          vertical-align:top}
        th{border-bottom:2px solid;vertical-align:bottom}
        .text,.words .missed{text-align:left}.words :is(th,td){white-space:normal}
        :is(th,td):first-child{white-space:normal;min-width:9.5rem;position:sticky;left:0;background:var(--page)}
        .bars{display:grid;grid-template-columns:auto 1fr;gap:.4rem .7rem;max-width:48rem;margin:1rem 0}
        .bars span{display:flex;align-items:center;gap:.5rem;white-space:nowrap}
        .bars i{height:1.2rem;min-width:2px}
        .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.5rem}
        figure{margin:0;max-width:36rem}figure>svg{width:100%;height:auto}figure p{margin:.2rem 0;font-size:.86rem}
        svg text{font:13px system-ui,sans-serif;fill:currentColor}.grid{stroke:var(--line);stroke-width:1}
        .legend{list-style:none;padding:0;margin:.3rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.86rem}
        .missed{font-weight:bold;text-decoration:underline}
        details{margin:.4rem 0}summary{cursor:pointer}
        @media(max-width:32rem){
          table{font-size:.78rem}th,td{padding:.2rem .3rem}th{white-space:normal}
          :is(th,td):first-child{min-width:6.5rem}
          .words thead{display:none}.words :is(table,tbody,tr,td){display:block}
          .words td{border:0}.words td:last-child{border-bottom:1px solid var(--line)}
          .words td:not(:first-child)::before{content:attr(data-head) ": ";opacity:.7}
        }
        """;

    public static string Write(PerfReport report, IReadOnlyList<MeasuredRow> rows)
    {
        var html = new StringBuilder();
        html.Append("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">")
            .Append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">")
            .Append("<title>RpcOverShm performance</title><style>").Append(Style).AppendLine("</style></head><body>");
        foreach (ReportPart part in ReportParts.Of(report, rows, hasCharts: true))
        {
            WritePart(html, part);
        }

        return html.AppendLine("</body></html>").ToString();
    }

    private static void WritePart(StringBuilder html, ReportPart part)
    {
        string title = part.IsFolded ? "summary" : $"h{part.Level}";
        html.Append(part.IsFolded ? "<details>" : "")
            .AppendLine(CultureInfo.InvariantCulture, $"<{title} id=\"{part.Anchor}\">{Inline(part.Title)}</{title}>");
        html.AppendLine(part.Text.StartsWith("- ", StringComparison.Ordinal)
            ? $"<ul>{string.Concat(part.Text.Split('\n').Select(item => $"<li>{Inline(item[2..])}</li>"))}</ul>"
            : part.Text.Length > 0 ? $"<p>{Inline(part.Text)}</p>" : "");
        WriteBars(html, part.Bars);
        if (part.Charts.Count > 0)
        {
            html.AppendLine("<div class=\"charts\">");
            foreach (Chart chart in part.Charts)
            {
                SvgChart.Write(html, chart);
            }

            html.AppendLine("</div>");
        }

        WriteTable(html, part);
        html.Append(part.Below.Length > 0 ? $"<p>{Inline(part.Below)}</p>" : "");
        html.AppendLine(part.IsFolded ? "</details>" : "");
    }

    private static void WriteBars(StringBuilder html, IReadOnlyList<(string Name, string Arm, double Us)> bars)
    {
        const double widest = 80; // Percent: the number stands beside the bar.
        html.Append(bars.Count > 0 ? "<div class=\"bars\">" : "");
        foreach ((string name, string arm, double us) in bars)
        {
            double width = widest * us / bars.Max(bar => bar.Us);
            html.Append(CultureInfo.InvariantCulture, $"<span>{Inline(name)}</span><span><i style=\"")
                .Append(CultureInfo.InvariantCulture, $"background:{SeriesStyle.Of(arm).Colour};width:{width:0.##}%\">")
                .AppendLine(CultureInfo.InvariantCulture, $"</i>{Format.Number(us)} µs</span>");
        }

        html.Append(bars.Count > 0 ? "</div>" : "");
    }

    private static void WriteTable(StringBuilder html, ReportPart part)
    {
        if (part.Rows.Count == 0)
        {
            return;
        }

        // A cell with words repeats the head of its column, for screens that are too narrow for columns.
        bool isWords = part.Texts == part.Columns.Count;
        string Cell(string text, int i) =>
            $"<td{Kind(text, i, part)}{(isWords ? $" data-head=\"{part.Columns[i]}\"" : "")}>{Inline(text)}</td>";

        html.Append(isWords ? "<div class=\"scroll\"><table class=\"words\">" : "<div class=\"scroll\"><table>")
            .Append("<thead><tr>")
            .AppendJoin("", part.Columns.Select((text, i) => $"<th{Kind(text, i, part)}>{Inline(text)}</th>"))
            .Append("</tr></thead><tbody>");
        foreach (IReadOnlyList<string> row in part.Rows)
        {
            html.Append("<tr>").AppendJoin("", row.Select(Cell)).AppendLine("</tr>");
        }

        html.AppendLine("</tbody></table></div>");
    }

    private static string Kind(string text, int column, ReportPart part) =>
        text == "MISSED" ? " class=\"missed\"" : column < part.Texts ? " class=\"text\"" : "";

    private static string Inline(string text)
    {
        string linked = Link().Replace(WebUtility.HtmlEncode(text), "<a href=\"$2\">$1</a>");
        return Bold().Replace(Code().Replace(linked, "<code>$1</code>"), "<b>$1</b>");
    }

    [GeneratedRegex(@"\[([^\]]+)\]\(([^)\s]+)\)")]
    private static partial Regex Link();

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Code();

    [GeneratedRegex(@"\*\*([^*]+)\*\*")]
    private static partial Regex Bold();
}
