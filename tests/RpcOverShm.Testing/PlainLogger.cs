using Microsoft.Extensions.Logging;

namespace RpcOverShm.Testing;

/// <summary>The base of loggers that are their own factory and write all categories to one place.</summary>
public abstract class PlainLogger : ILoggerFactory, ILoggerProvider, ILogger
{
    public ILogger CreateLogger(string categoryName) => this;

    public void AddProvider(ILoggerProvider provider)
    {
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public virtual bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (IsEnabled(logLevel))
        {
            Write(logLevel, eventId, formatter(state, exception), exception);
        }
    }

    public virtual void Dispose() => GC.SuppressFinalize(this);

    protected abstract void Write(LogLevel level, EventId id, string text, Exception? exception);
}
