using System.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// The deadline timer of one call. It never fires early, and supports timeouts beyond a timer's maximum. It uses the
/// monotonic clock, so setting the wall clock moves no deadline. It is disposed when the call ends; an expiry already
/// under way then finds the call ended.
/// </summary>
internal sealed class CallDeadline : IDisposable
{
    // A timer accepts at most about 49 days.
    private static readonly TimeSpan s_longest = TimeSpan.FromDays(40);

    private readonly Action _onExpired;
    private readonly long _expiresAt;
    private readonly Timer _timer;

    /// <summary>Starts the timer. A timeout of zero or less expires at once, on the thread pool.</summary>
    public CallDeadline(TimeSpan timeout, Action onExpired)
    {
        _onExpired = onExpired;
        _expiresAt = ExpiryAfter(timeout);

        // The timer belongs to the call, so the caller's ExecutionContext must not flow into it.
        using (ExecutionContext.IsFlowSuppressed() ? default(AsyncFlowControl?) : ExecutionContext.SuppressFlow())
        {
            _timer = new Timer(
                static state => ((CallDeadline)state!).OnTimer(), this, Timeout.Infinite, Timeout.Infinite);
        }

        Schedule();
    }

    /// <summary>Returns the time stamp of the monotonic clock at the end of a timeout.</summary>
    public static long ExpiryAfter(TimeSpan timeout) => Stopwatch.GetTimestamp()
        + (long)Math.Min(timeout.TotalSeconds * Stopwatch.Frequency, long.MaxValue / 4);

    /// <summary>Returns the time from now to a time stamp; zero or less once it has passed.</summary>
    public static TimeSpan Until(long expiresAt) => Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), expiresAt);

    /// <summary>Returns the UTC time at the end of the timeout, or the maximum value if that is out of range.</summary>
    public static DateTime UtcAfter(TimeSpan timeout, TimeProvider clock)
    {
        DateTime now = clock.GetUtcNow().UtcDateTime;
        return timeout < DateTime.MaxValue - now ? now + timeout : DateTime.MaxValue;
    }

    public void Dispose() => _timer.Dispose();

    /// <summary>The remaining time; zero or less once the deadline has passed.</summary>
    public TimeSpan Remaining => Until(_expiresAt);

    private void OnTimer()
    {
        if (Remaining > TimeSpan.Zero)
        {
            Schedule();
        }
        else
        {
            _onExpired();
        }
    }

    private void Schedule()
    {
        TimeSpan remaining = Remaining;
        TimeSpan next = remaining > s_longest ? s_longest : remaining;

        // A timer truncates to whole milliseconds, which would fire early.
        long milliseconds = Math.Max(0, (long)Math.Ceiling(next.TotalMilliseconds));
        try
        {
            _timer.Change(milliseconds, Timeout.Infinite);
        }
        catch (ObjectDisposedException)
        {
            // The call has ended meanwhile.
        }
    }
}
