using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>Forwards the log of grpc-dotnet's server, with this library's ids for the events that both have.</summary>
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
            // A method was still reading when its client cancelled the call, which is no error.
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
