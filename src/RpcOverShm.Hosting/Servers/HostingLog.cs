using Microsoft.Extensions.Logging;

namespace RpcOverShm.Hosting.Servers;

/// <summary>The log messages of this assembly. Event ids 500-599; an id is never reused.</summary>
internal static partial class HostingLog
{
    [LoggerMessage(
        500,
        LogLevel.Error,
        "The scope of a {Service} that could not be created threw an exception when it was disposed.")]
    public static partial void ScopeNotDisposed(ILogger logger, Type service, Exception exception);
}
