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
    private const string PageStyle = """
        :root{color-scheme:light dark;--ink:#111;--page:#fff;--line:#ccc;--link:#06c}
        @media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--page:#15171a;--line:#3d4046;--link:#6ae}}
        body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:100rem;
          margin:0 auto;padding:1rem}
        a{color:var(--link)}h1{font-size:1.6rem}h2{margin-top:2.2rem;border-bottom:2px solid}h3{margin:.8rem 0 .4rem}
        """;

    // The site shows the report among its pages, which have tables and lists of their own.
    private const string ReportStyle = """
        .report :is(p,li){max-width:48rem;overflow-wrap:anywhere}
        .report .fit{container-type:inline-size;margin:.6rem 0}
        .report table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums;width:auto}
        .report :is(th,td){padding:.2rem .5rem;border:0;border-bottom:1px solid var(--line);text-align:right;
          vertical-align:top}
        .report :is(td,td code){white-space:nowrap}.report th{border-bottom-width:2px;vertical-align:bottom}
        .report td::before{display:none}
        .report :is(.text,.words .missed){text-align:left}.report :is(.text,td:first-child){white-space:normal}
        .report .bars{display:grid;grid-template-columns:auto 1fr;gap:.4rem .7rem;max-width:48rem;margin:1rem 0}
        .report .bars span{display:flex;align-items:center;gap:.5rem;white-space:nowrap}
        .report .bars i{height:1.2rem;min-width:2px}
        .report .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.5rem}
        .report figure{margin:0;max-width:36rem}.report figure>svg{width:100%;height:auto}
        .report figure p{margin:.2rem 0;font-size:.86rem}
        .report svg text{font:13px system-ui,sans-serif;fill:currentColor}
        .report .grid{stroke:var(--line);stroke-width:1}
        .report .legend{list-style:none;padding:0;margin:.3rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;
          font-size:.86rem}
        .report .missed{font-weight:bold;text-decoration:underline}
        .report details{margin:.4rem 0}.report summary{cursor:pointer}
        """;

    // Where a table does not fit, each row is a block: its name, and below it the values with the names of their
    // columns. So no column is cut, and nothing has to be scrolled sideways.
    private const string StackStyle = """
        @container(max-width:$1){
          .report .$0{display:block;width:100%}.report .$0 thead{display:none}.report .$0 tbody{display:block}
          .report .$0 tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(6.4rem,1fr));
            border-bottom:1px solid var(--line);padding:.3rem 0}
          .report .$0 td{display:block;border:0;padding:.1rem .3rem;text-align:left;white-space:normal}
          .report .$0 td:first-child{grid-column:1/-1;font-weight:bold}
          .report .$0 td::before{display:block;opacity:.7;font-size:.9em}
        }
        """;

    private const int FewColumns = 9;
    private const int ManyColumns = 17;

    private static readonly string[] s_styles =
    [
        ReportStyle,
        Stack("widest", "96rem"),
        Stack("wide", "84rem"),
        Stack("words", "44rem"),
        Stack("few", "40rem"),
        "@container(max-width:44rem){.report .words tr{display:block}}",
    ];

    public static string Write(PerfReport report, IReadOnlyList<MeasuredRow> rows)
    {
        IReadOnlyList<ReportPart> parts = ReportParts.Of(report, rows, hasCharts: true);
        string[] heads = [.. parts.Where(part => part.Rows.Count > 0).Select(HeadOf).Distinct()];
        var html = new StringBuilder();
        html.Append("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">")
            .Append("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">")
            .Append("<title>RpcOverShm performance</title><style>").Append(PageStyle).AppendLine("</style>")
            .AppendLine("<style>").AppendJoin('\n', [.. s_styles, .. heads.SelectMany(LabelsOf)])
            .AppendLine("\n</style></head><body>").AppendLine("<section class=\"report\">");
        foreach (ReportPart part in parts)
        {
            WritePart(html, part, heads);
        }

        return html.AppendLine("</section>").AppendLine("</body></html>").ToString();
    }

    private static string Stack(string tables, string below) =>
        StackStyle.Replace("$0", tables, StringComparison.Ordinal).Replace("$1", below, StringComparison.Ordinal);

    private static string HeadOf(ReportPart part) => string.Join('|', part.Columns);

    // The names of the columns stand once for all tables that have the same ones.
    private static IEnumerable<string> LabelsOf(string head, int table) => head.Split('|').Skip(1).Select((column, i) =>
        Format.Invariant($".report .head{table} td:nth-child({i + 2})::before{{content:\"{column}\"}}"));

    private static void WritePart(StringBuilder html, ReportPart part, string[] heads)
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

        WriteTable(html, part, heads);
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

    private static void WriteTable(StringBuilder html, ReportPart part, string[] heads)
    {
        if (part.Rows.Count == 0)
        {
            return;
        }

        string size = part.Texts == part.Columns.Count ? "words"
            : part.Columns.Count > ManyColumns ? "widest"
            : part.Columns.Count > FewColumns ? "wide" : "few";
        html.Append("<div class=\"fit\"><table class=\"")
            .Append(CultureInfo.InvariantCulture, $"{size} head{Array.IndexOf(heads, HeadOf(part))}\">")
            .Append("<thead><tr>")
            .AppendJoin("", part.Columns.Select((text, i) => $"<th{Kind(text, i, part)}>{Inline(text)}</th>"))
            .Append("</tr></thead><tbody>");
        foreach (IReadOnlyList<string> row in part.Rows)
        {
            IEnumerable<string> cells = row.Select((text, i) => $"<td{Kind(text, i, part)}>{Inline(text)}</td>");
            html.Append("<tr>").AppendJoin("", cells).AppendLine("</tr>");
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
