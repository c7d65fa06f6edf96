using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>Passes the log of grpc-dotnet's server on, with this project's ids for the events that both have.</summary>
internal sealed class GrpcDotNetLog(ILogger target) : ILoggerProvider, ILogger
{
    private const string ClientReset = "The client reset the request stream";

    public ILogger CreateLogger(string categoryName) => this;

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
        if (exception is IOException && exception.Message.StartsWith(ClientReset, StringComparison.Ordinal))
        {
            // A method that still read when its client gave the call up: nobody's error.
            logLevel = LogLevel.Information;
        }

        int id = eventId.Name switch
        {
            "RpcConnectionError" => 300,
            "ErrorExecutingServiceMethod" => 301,
            "ServiceMethodCanceled" => 302,
            _ => eventId.Id,
        };
        target.Log(logLevel, new EventId(id, eventId.Name), state, exception, formatter);
    }

    public void Dispose()
    {
    }
}
