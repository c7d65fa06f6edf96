using System.Net;
using System.Text;

namespace RpcOverShm.Perf.Report.Charts;

/// <summary>
/// Draws a chart as inline SVG, with its legend below as text. It scales with the page; numbers and lines are large
/// enough for a phone.
/// </summary>
internal static class SvgChart
{
    private const int Width = 440;
    private const int Height = 370;
    private const int Left = 52;
    private const int Right = 26;
    private const int Top = 12;
    private const int Bottom = 46;

    public static void Write(StringBuilder html, Chart chart)
    {
        html.Append(CultureInfo.InvariantCulture, $"<figure><h3>{Text(chart.Title)}</h3><p>{Text(chart.Note)}</p>");
        html.Append(CultureInfo.InvariantCulture,
            $"<svg viewBox=\"0 0 {Width} {Height}\" role=\"img\" aria-label=\"{Text(chart.Title)}\">");
        var x = LogAxis.Values(chart.Series.SelectMany(Xs), Left, Width - Right);
        var y = LogAxis.Decades(chart.Series.SelectMany(Ys), Height - Bottom, Top);
        WriteAxes(html, chart, x, y);
        foreach (ChartSeries series in chart.Series)
        {
            WriteSeries(html, series, x, y);
        }

        html.Append("</svg><ul class=\"legend\">");
        foreach (ChartSeries series in chart.Series)
        {
            html.Append("<li><svg viewBox=\"0 0 44 12\" width=\"44\" height=\"12\">");
            WriteLine(html, SeriesStyle.Of(series.Name), [(2, 6), (42, 6)]);
            WriteMarker(html, SeriesStyle.Of(series.Name), 22, 6);
            html.Append("</svg> ").Append(Text(series.Name)).Append("</li>");
        }

        html.AppendLine("</ul></figure>");
    }

    private static IEnumerable<double> Xs(ChartSeries series) => series.Points.Select(point => point.X);

    private static IEnumerable<double> Ys(ChartSeries series) => series.Points.Select(point => point.Y);

    private static void WriteAxes(StringBuilder html, Chart chart, LogAxis x, LogAxis y)
    {
        const int below = Height - Bottom;
        foreach (double tick in y.Ticks)
        {
            html.Append(CultureInfo.InvariantCulture,
                $"<path class=\"grid\" d=\"M{Left} {y.At(tick):0.#}H{Width - Right}\"/>")
                .Append(CultureInfo.InvariantCulture,
                $"<text x=\"{Left - 6}\" y=\"{y.At(tick) + 4:0.#}\" text-anchor=\"end\">{Format.Short(tick)}</text>");
        }

        foreach (double tick in x.Ticks)
        {
            html.Append(CultureInfo.InvariantCulture,
                $"<path class=\"grid\" d=\"M{x.At(tick):0.#} {Top}V{below}\"/>")
                .Append(CultureInfo.InvariantCulture,
                $"<text x=\"{x.At(tick):0.#}\" y=\"{below + 16}\" text-anchor=\"middle\">")
                .Append(Text(chart.XLabel(tick))).Append("</text>");
        }

        const int middle = (Left + Width - Right) / 2;
        const int centre = (Top + below) / 2;
        html.Append(CultureInfo.InvariantCulture,
            $"<text x=\"{middle}\" y=\"{Height - 8}\" text-anchor=\"middle\">{Text(chart.XName)}</text>")
            .Append(CultureInfo.InvariantCulture,
            $"<text transform=\"translate(12 {centre}) rotate(-90)\" text-anchor=\"middle\">")
            .Append(Text(chart.YName)).Append("</text>");
    }

    private static void WriteSeries(StringBuilder html, ChartSeries series, LogAxis x, LogAxis y)
    {
        SeriesStyle style = SeriesStyle.Of(series.Name);
        (double X, double Y)[] points = [.. series.Points.Select(point => (x.At(point.X), y.At(point.Y)))];
        html.Append(CultureInfo.InvariantCulture, $"<g><title>{Text(series.Name)}</title>");
        WriteLine(html, style, points);
        foreach ((double pointX, double pointY) in points)
        {
            WriteMarker(html, style, pointX, pointY);
        }

        html.Append("</g>");
    }

    private static void WriteLine(StringBuilder html, SeriesStyle style, IReadOnlyList<(double X, double Y)> points)
    {
        html.Append(CultureInfo.InvariantCulture,
            $"<polyline fill=\"none\" stroke=\"{style.Colour}\" stroke-width=\"{style.Width}\"")
            .Append(CultureInfo.InvariantCulture, $" stroke-dasharray=\"{style.Dashes}\" points=\"");
        foreach ((double x, double y) in points)
        {
            html.Append(CultureInfo.InvariantCulture, $"{x:0.#},{y:0.#} ");
        }

        html.Append("\"/>");
    }

    private static void WriteMarker(StringBuilder html, SeriesStyle style, double x, double y)
    {
        string fill = style.IsFilled ? style.Colour : "var(--page)";
        html.Append(CultureInfo.InvariantCulture,
            $"<path fill=\"{fill}\" stroke=\"{style.Colour}\" stroke-width=\"1.3\"")
            .Append(CultureInfo.InvariantCulture, $" transform=\"translate({x:0.#} {y:0.#})\"")
            .Append(CultureInfo.InvariantCulture, $" d=\"{style.Marker}\"/>");
    }

    private static string Text(string text) => WebUtility.HtmlEncode(text);
}

/// <summary>Lines over two logarithmic axes.</summary>
/// <param name="Title">The heading.</param>
/// <param name="Note">The explanation for the reader.</param>
/// <param name="XName">The name of the horizontal axis.</param>
/// <param name="YName">The name of the vertical axis.</param>
/// <param name="XLabel">Formats a value of the horizontal axis.</param>
/// <param name="Series">The lines.</param>
internal sealed record Chart(
    string Title,
    string Note,
    string XName,
    string YName,
    Func<double, string> XLabel,
    IReadOnlyList<ChartSeries> Series);

/// <summary>One line of a chart.</summary>
/// <param name="Name">The arm.</param>
/// <param name="Points">From left to right, all above 0.</param>
internal sealed record ChartSeries(string Name, IReadOnlyList<(double X, double Y)> Points);
