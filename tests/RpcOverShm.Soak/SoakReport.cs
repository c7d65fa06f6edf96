using System.Text;

namespace RpcOverShm.Soak;

/// <summary>The text about a run: calls by shape and status, faults, recovery, resources, findings.</summary>
internal static class SoakReport
{
    public static string Text(
        SoakSettings settings,
        SoakFleet fleet,
        CallBook book,
        Faults faults,
        Recoveries recoveries,
        JournalCheck journals,
        LedgerReader reader,
        Findings findings,
        IEnumerable<string> lines)
    {
        var text = new StringBuilder();
        CultureInfo culture = CultureInfo.InvariantCulture;
        text.AppendLine(culture, $"Soak of {settings.Length.TotalSeconds:0} s, seed {settings.Seed}");
        text.AppendLine(culture, $"{settings.Clients} clients with {settings.Workers} callers each");
        AppendCounts(text, book);
        text.AppendLine(culture, $"calls and callbacks that ended with their caller: {book.EndedWithCaller:N0}");
        text.AppendLine(culture, $"methods that ended with their process: {book.EndedWithProcess:N0}");
        text.AppendLine(culture, $"one-way calls sent to a server that ended: {book.OneWayEndedWithServer:N0}");
        text.AppendLine(culture, $"ledger entries torn by a kill: {reader.Torn}");
        text.AppendLine(culture, $"faults: {faults.Counts.Values.Sum():N0}");
        foreach ((FaultKind kind, int count) in faults.Counts.OrderBy(pair => pair.Key))
        {
            text.AppendLine(culture, $"  {kind}: {count:N0}");
        }

        text.AppendLine(culture, $"processes: {fleet.ProcessesStarted}; ended by a lack: {faults.EndedByLack}");
        text.AppendLine(culture, $"failures for lack of memory or threads: {journals.OutOfMemory}");
        text.AppendLine(
            culture,
            $"first answer after a fault: worst {recoveries.Worst.TotalMilliseconds:0} ms, after "
            + $"{recoveries.WorstFault}, of {recoveries.Count:N0}");
        text.AppendLine(
            culture,
            $"latest call that was unavailable: asked {book.LatestUnavailable.TotalMilliseconds:0} ms after an outage");
        text.AppendLine(culture, $"connects that timed out with one side stopped or starved: {book.ConnectsStopped}");
        foreach ((int id, int count) in journals.Logged.OrderBy(pair => pair.Key))
        {
            string sample = journals.Samples[id];
            text.AppendLine(culture, $"log event {id}: {count}, first: {sample[..Math.Min(300, sample.Length)]}");
        }

        foreach (string line in lines)
        {
            text.AppendLine(line);
        }

        text.AppendLine(
            culture,
            $"{findings.CountOf(CallBook.Lost)} lost, {findings.CountOf(CallBook.Doubled)} doubled, "
            + $"{findings.CountOf(CallBook.Misdelivered)} misdelivered, {findings.CountOf("leaked")} leaked, "
            + $"{findings.Count} findings in all");
        return text.Append(findings).ToString();
    }

    /// <summary>Appends the numbers of calls and callbacks, by shape and status.</summary>
    public static void AppendCounts(StringBuilder text, CallBook book)
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        text.AppendLine(culture, $"calls: {book.CountOf(isCallback: false):N0}");
        text.AppendLine(culture, $"callbacks: {book.CountOf(isCallback: true):N0}");
        foreach (var shape in book.Counts.GroupBy(pair => (pair.Key.IsCallback, pair.Key.Shape)))
        {
            string ends = string.Join(
                ", ", shape.Select(pair => string.Create(culture, $"{pair.Key.Status} {pair.Value:N0}")));
            text.AppendLine(culture, $"  {(shape.Key.IsCallback ? "callback " : "")}{shape.Key.Shape}: {ends}");
        }
    }
}
