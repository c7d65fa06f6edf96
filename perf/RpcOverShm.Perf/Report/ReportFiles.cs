namespace RpcOverShm.Perf.Report;

/// <summary>The files of a run. Each is replaced as a whole, so that an interrupted run leaves readable ones.</summary>
internal static class ReportFiles
{
    private const string Unfinished = ".unfinished";

    /// <summary>Writes all files. Returns null, or why they could not be written: no run ends for that.</summary>
    public static string? Write(string folder, PerfReport report, IReadOnlyList<MeasuredRow> rows)
    {
        try
        {
            Directory.CreateDirectory(folder);
            Replace(Path.Combine(folder, "latest.json"), report.ToJson());
            Replace(Path.Combine(folder, "latest.md"), MarkdownReport.Write(report, rows));
            Replace(Path.Combine(folder, "latest.html"), HtmlReport.Write(report, rows));
            return null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return $"The report can't be written to {folder}: {exception.Message}";
        }
    }

    private static void Replace(string file, string text)
    {
        try
        {
            File.WriteAllText(file + Unfinished, text);
            File.Move(file + Unfinished, file, overwrite: true);
        }
        catch
        {
            File.Delete(file + Unfinished);
            throw;
        }
    }
}
