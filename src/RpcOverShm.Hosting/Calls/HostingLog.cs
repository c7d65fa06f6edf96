using Microsoft.Extensions.Logging;

namespace RpcOverShm.Hosting.Calls;

/// <summary>The log messages of this assembly. Event ids 500-599; an id is never reused, such as 500.</summary>
internal static partial class HostingLog
{
    /// <summary>Logs that a section has nothing. It may be optional, so it does not fail the start.</summary>
    [LoggerMessage(
        501,
        LogLevel.Warning,
        "Section '{Section}' of the configuration, for '{Name}', is missing or empty{Suggestion} The options keep the "
        + "values that they have without it. There are: {Sections}. Use GetRequiredSection for one that must exist.")]
    public static partial void SectionMissing(
        ILogger logger, string section, string name, string suggestion, string sections);
}
