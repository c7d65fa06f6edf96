using RpcOverShm.Clients;

namespace RpcOverShm;

/// <summary>Checks the options that limit the time of calls and of idle connections.</summary>
internal static class TimeoutChecks
{
    // An idle connection costs memory alone, so a shorter time would save nothing and cost more handshakes.
    private static readonly TimeSpan s_shortestIdle = TimeSpan.FromSeconds(1);

    /// <summary>Returns the time limits of a channel's calls; null if there are none.</summary>
    /// <exception cref="ArgumentException">A timeout or the service config is not allowed.</exception>
    public static CallTimeouts? Calls(ShmChannelOptions options)
    {
        if (options.DefaultTimeout is { } time && time <= TimeSpan.Zero)
        {
            throw OutOfRange(nameof(options.DefaultTimeout), time, "above zero, or null for none");
        }

        Dictionary<string, TimeSpan?> methods = RetryChecks.ByName(options.ServiceConfig, static one => Method(one));
        return options.DefaultTimeout is null && methods.Values.All(timeout => timeout is null)
            ? null
            : new CallTimeouts(methods, options.DefaultTimeout);
    }

    /// <summary>Returns the time after which a channel without a call closes its connections; null for never.</summary>
    /// <exception cref="ArgumentException">The time is not allowed, or the channel offers callbacks.</exception>
    public static TimeSpan? Idle(ShmChannelOptions options) =>
        options.IdleTimeout is not null && options.CallbackServices.Count > 0
            ? throw new ArgumentException(
                $"{nameof(options.IdleTimeout)} is null if there are {nameof(options.CallbackServices)}: the server "
                + "could not call back a channel that has closed its connections.")
            : Idle(options.IdleTimeout);

    /// <summary>Returns the option of a server or channel.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The time is not allowed.</exception>
    public static TimeSpan? Idle(TimeSpan? idleTimeout) =>
        idleTimeout is { } time && (time < s_shortestIdle || time.TotalMilliseconds > int.MaxValue)
            ? throw OutOfRange(
                nameof(ShmServerOptions.IdleTimeout), time, "1 second or more and below 24 days, or null for none")
            : idleTimeout;

    private static ArgumentOutOfRangeException OutOfRange(string name, TimeSpan time, string allowed) =>
        new(name, time, $"{name} is {allowed}.");

    private static TimeSpan? Method(ShmMethodConfig config) =>
        config.Timeout is { } time && time <= TimeSpan.Zero && time != Timeout.InfiniteTimeSpan
            ? throw new ArgumentException(
                $"{nameof(ShmMethodConfig)}.{nameof(config.Timeout)} is above zero, infinite, or null; not {time}.")
            : config.Timeout;
}
