using System.Globalization;

namespace RpcOverShm.Testing.Soak;

/// <summary>One line of the text that a process of a soak leaves for the supervisor.</summary>
/// <param name="Kind">A broken promise of the library, an entry of its log, or a time without a processor.</param>
/// <param name="Time">The time, from the system's monotonic clock; of a stall, its end.</param>
/// <param name="EventId">The id of the log entry, or the milliseconds of the stall.</param>
/// <param name="Text">The text.</param>
public sealed record SoakJournalLine(string Kind, long Time, int EventId, string Text)
{
    public const string Violation = "V";
    public const string Log = "L";
    public const string Stall = "S";

    private const int Fields = 4;

    /// <summary>
    /// Returns the complete lines of a file; its writer may be within the last one, or have died there.
    /// </summary>
    public static IEnumerable<SoakJournalLine> Read(string path)
    {
        if (!File.Exists(path))
        {
            yield break;
        }

        using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        using var reader = new StreamReader(file);
        string text = reader.ReadToEnd();
        foreach (string line in text.Split('\n')[..^1])
        {
            string[] fields = line.Split('\t', Fields);
            yield return new SoakJournalLine(
                fields[0],
                long.Parse(fields[1], CultureInfo.InvariantCulture),
                int.Parse(fields[2], CultureInfo.InvariantCulture),
                fields[3]);
        }
    }
}
