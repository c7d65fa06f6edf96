using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Testing;

/// <summary>Keeps what is logged, and lets a test run something at the moment of a message. Any thread may log.</summary>
public sealed class RecordingLogger : ILogger, ILoggerFactory
{
    private readonly ConcurrentQueue<LoggedMessage> _messages = new();

    /// <summary>Runs for each message, on the thread that logs it; null for nothing.</summary>
    public Action<LoggedMessage>? OnMessage { get; set; }

    /// <summary>What was logged so far, in order.</summary>
    public IReadOnlyList<LoggedMessage> Messages => [.. _messages];

    public bool IsEnabled(LogLevel logLevel) => true;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        var message = new LoggedMessage(logLevel, eventId.Id, formatter(state, exception), exception);
        _messages.Enqueue(message);
        OnMessage?.Invoke(message);
    }

    /// <summary>Every category is this logger.</summary>
    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public void Dispose()
    {
    }
}
