using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Testing;

/// <summary>
/// Collects log entries and fails a test that logs errors which it did not expect. An entry for a lost wake-up always
/// fails the test, although the product does not log it as an error.
/// </summary>
public sealed class LogGuard : PlainLogger
{
    /// <summary>The event of a lost wake-up: a sleep timed out, and data was there.</summary>
    public const int LostWakeup = 105;

    private const int MethodThrew = 301;

    private readonly ConcurrentQueue<LogEntry> _entries = new();
    private readonly ConcurrentDictionary<int, bool> _expected = new();

    /// <summary>Runs for each entry, on the thread that logs it. Null: nothing runs.</summary>
    public Action<LogEntry>? OnEntry { get; set; }

    public IReadOnlyList<LogEntry> Entries => [.. _entries];

    /// <summary>Allows log entries with these ids.</summary>
    public void Expect(params ReadOnlySpan<int> ids)
    {
        foreach (int id in ids)
        {
            _expected[id] = true;
        }
    }

    /// <summary>Returns the entries with this id that were logged so far.</summary>
    public IReadOnlyList<LogEntry> Of(int id) => [.. _entries.Where(entry => entry.Id == id)];

    /// <summary>Waits until an entry with this id is logged.</summary>
    public async Task<LogEntry> WaitForAsync(int id)
    {
        await Timeouts.Eventually(
            () => Of(id).Count > 0, $"something logged with id {id}; there is: {Describe(_entries)}");
        return Of(id)[0];
    }

    /// <exception cref="InvalidOperationException">The log contains errors that the test did not expect.</exception>
    public void Check()
    {
        LogEntry[] unexpected =
        [
            .. _entries.Where(entry =>
                (entry.Level >= LogLevel.Error || entry.Id == LostWakeup)
                && !_expected.ContainsKey(entry.Id)
                && !IsTooLate(entry)),
        ];
        if (unexpected.Length > 0)
        {
            throw new InvalidOperationException($"Unexpected in the log: {Describe(unexpected)}");
        }
    }

    protected override void Write(LogLevel level, EventId id, string text, Exception? exception)
    {
        var entry = new LogEntry(level, id.Id, text, exception);
        _entries.Enqueue(entry);
        OnEntry?.Invoke(entry);
    }

    // A cancelled call may end just before its method reads or answers. Then the method fails, correctly, depending on
    // timing. If the call is not over, its status reports the failure.
    private static bool IsTooLate(LogEntry entry) =>
        entry is { Id: MethodThrew, Exception: InvalidOperationException exception }
        && exception.Message.EndsWith("the request is complete.", StringComparison.Ordinal);

    private static string Describe(IEnumerable<LogEntry> entries) => string.Join(Environment.NewLine, entries);
}

public sealed record LogEntry(LogLevel Level, int Id, string Message, Exception? Exception)
{
    public override string ToString() => $"{Level} {Id}: {Message}{(Exception is null ? "" : $" <- {Exception}")}";
}
