using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Wraps the user's logger and swallows its exceptions. The library logs while it closes links and ends calls, on
/// threads on which no code catches an exception.
/// </summary>
internal sealed class GuardedLogger(ILogger inner) : ILogger
{
    /// <summary>Returns the logger of a public type; one that drops everything without a factory.</summary>
    public static ILogger Of<T>(ILoggerFactory? factory) =>
        factory is null ? NullLogger.Instance : new GuardedLogger(factory.CreateLogger(typeof(T).FullName!));

    public bool IsEnabled(LogLevel logLevel)
    {
        try
        {
            return inner.IsEnabled(logLevel);
        }
        catch (Exception)
        {
            return false;
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => inner.BeginScope(state);

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        try
        {
            inner.Log(logLevel, eventId, state, exception, formatter);
        }
        catch (Exception)
        {
            // A failing logger leaves no place to report this.
        }
    }
}
