using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Testing;

/// <summary>
/// Collects what is logged, and fails a test that did not announce the errors in it. A lost wake-up that the backstop
/// found is no error of the product's log, but always one of a test.
/// </summary>
public sealed class LogGuard : ILoggerFactory, ILogger
{
    /// <summary>"A time-out found data that nobody was woken for."</summary>
    public const int LostWakeup = 105;

    private const int MethodThrew = 301;

    private readonly ConcurrentQueue<LogEntry> _entries = new();
    private readonly ConcurrentDictionary<int, bool> _expected = new();

    /// <summary>Runs for each entry, on the thread that logs it; null for nothing.</summary>
    public Action<LogEntry>? OnEntry { get; set; }

    public IReadOnlyList<LogEntry> Entries => [.. _entries];

    /// <summary>Errors with these ids are what the test is about.</summary>
    public void Expect(params ReadOnlySpan<int> ids)
    {
        foreach (int id in ids)
        {
            _expected[id] = true;
        }
    }

    /// <summary>What was logged under an id so far.</summary>
    public IReadOnlyList<LogEntry> Of(int id) => [.. _entries.Where(entry => entry.Id == id)];

    /// <summary>Waits until something was logged under an id.</summary>
    public async Task<LogEntry> WaitForAsync(int id)
    {
        await Timeouts.Eventually(
            () => Of(id).Count > 0, $"something logged with id {id}; there is: {Describe(_entries)}");
        return Of(id)[0];
    }

    /// <exception cref="InvalidOperationException">There are errors that nobody expected.</exception>
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

    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        var entry = new LogEntry(logLevel, eventId.Id, formatter(state, exception), exception);
        _entries.Enqueue(entry);
        OnEntry?.Invoke(entry);
    }

    public void Dispose()
    {
    }

    // A call that is given up may end just before its method reads or answers: the method then fails, rightly, and
    // whether it does is chance. Were the call not over, its status would tell of it.
    private static bool IsTooLate(LogEntry entry) =>
        entry is { Id: MethodThrew, Exception: InvalidOperationException exception }
        && exception.Message.EndsWith("the request is complete.", StringComparison.Ordinal);

    private static string Describe(IEnumerable<LogEntry> entries) => string.Join(Environment.NewLine, entries);
}

/// <summary>One thing that was logged.</summary>
public sealed record LogEntry(LogLevel Level, int Id, string Message, Exception? Exception)
{
    public override string ToString() => $"{Level} {Id}: {Message}{(Exception is null ? "" : $" <- {Exception}")}";
}
