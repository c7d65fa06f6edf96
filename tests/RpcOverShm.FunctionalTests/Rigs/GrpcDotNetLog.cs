using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>Forwards the log of grpc-dotnet's server, with this library's ids for the events that both have.</summary>
internal sealed class GrpcDotNetLog(ILogger target) : PlainLogger
{
    private const string ClientReset = "The client reset the request stream";

    protected override void Write(LogLevel level, EventId id, string text, Exception? exception)
    {
        if (exception is IOException && exception.Message.StartsWith(ClientReset, StringComparison.Ordinal))
        {
            // A method was still reading when its client cancelled the call, which is no error.
            level = LogLevel.Information;
        }

        int ours = id.Name switch
        {
            "RpcConnectionError" => 300,
            "ErrorExecutingServiceMethod" => 301,
            "ServiceMethodCanceled" => 302,
            _ => id.Id,
        };
        target.Log(level, new EventId(ours, id.Name), text, exception, static (text, _) => text);
    }
}
