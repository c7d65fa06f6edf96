using System.Diagnostics.Metrics;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Reports each time that a limit of this process refuses something or makes it wait: counts it, and logs it with the
/// name of the option. A peer causes these events, so the log entries are deferred and their number is limited.
/// </summary>
internal static class LimitEvents
{
    /// <summary>The name of the counter; its tag <c>option</c> is the name of the option or constant.</summary>
    public const string CounterName = "rpcovershm.limit.reached";

    /// <summary>The name of the meter.</summary>
    public const string MeterName = "RpcOverShm";

    private static readonly Meter s_meter = new(MeterName);

    private static readonly Counter<long> s_reached = s_meter.CreateCounter<long>(
        CounterName, "{event}", "Times that a limit refused something or made it wait.");

    /// <summary>Counts and logs that a limit was reached.</summary>
    /// <param name="logger">The logger of the server, channel or stream.</param>
    /// <param name="option">The name of the public option, or of the constant if there is no option.</param>
    /// <param name="limit">The value of the limit.</param>
    /// <param name="effect">A sentence that says what happened and to which peer.</param>
    public static void Reached(ILogger logger, string option, long limit, string effect)
    {
        s_reached.Add(1, new KeyValuePair<string, object?>("option", option));
        DeferredLog.Write(logger, log => ShmLog.LimitReached(log, option, limit, effect));
    }
}
