using Microsoft.Extensions.Logging;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Reports each time that a limit of this process refuses something or makes it wait: counts it, and logs it with the
/// name of the option. A peer causes these events, so the log entries are deferred and their number is limited.
/// Thread-safe.
/// </summary>
internal static class LimitEvents
{
    private static readonly TaggedCounter s_counts = new(
        TelemetryNames.LimitReached,
        "{event}",
        "Times that a limit refused something or made it wait.",
        TelemetryNames.Option);

    /// <summary>Returns how often a limit was reached since the process began.</summary>
    public static long CountOf(string option) => s_counts.CountOf(option);

    /// <summary>Counts that a limit was reached, for which there is a log entry of its own.</summary>
    public static void Count(string option) => s_counts.Count(option);

    /// <summary>Counts and logs that calls wait because of a limit: nothing is lost.</summary>
    /// <param name="logger">The logger of the server.</param>
    /// <param name="option">The name of the public option.</param>
    /// <param name="limit">The value of the limit.</param>
    /// <param name="effect">A sentence that says which calls wait.</param>
    public static void Waited(ILogger logger, string option, long limit, string effect) =>
        Report(logger, LogLevel.Information, option, limit, effect);

    /// <summary>Counts and logs that a limit refused something, or holds up a peer that does not read.</summary>
    /// <param name="logger">The logger of the server, channel or stream.</param>
    /// <param name="option">The name of the public option, or of the constant if there is no option.</param>
    /// <param name="limit">The value of the limit.</param>
    /// <param name="effect">A sentence that says what happened and to which peer.</param>
    public static void Reached(ILogger logger, string option, long limit, string effect) =>
        Report(logger, LogLevel.Warning, option, limit, effect);

    private static void Report(ILogger logger, LogLevel level, string option, long limit, string effect)
    {
        Count(option);
        DeferredLog.Write(logger, log => ShmLog.LimitReached(log, level, option, limit, effect));
    }
}
