using System.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// One timer for one call that has a deadline. Never fires early, and copes with deadlines beyond what timers take.
/// Measured on the monotonic clock: setting the wall clock moves no deadline. Disposed when the call ends; an expiry
/// that is under way then finds the call ended.
/// </summary>
internal sealed class CallDeadline : IDisposable
{
    // The longest that a timer takes is about 49 days.
    private static readonly TimeSpan s_longest = TimeSpan.FromDays(40);

    private readonly Action _onExpired;
    private readonly long _expiresAt;
    private readonly Timer _timer;

    /// <param name="timeout">From now; expires at once where it is zero or less.</param>
    /// <param name="onExpired">Runs on the thread pool.</param>
    public CallDeadline(TimeSpan timeout, Action onExpired)
    {
        _onExpired = onExpired;
        double ticks = timeout.TotalSeconds * Stopwatch.Frequency;
        _expiresAt = Stopwatch.GetTimestamp() + (long)Math.Min(ticks, long.MaxValue / 4);

        // Without the flow of the caller's context: the timer is the call's, not the caller's.
        using (ExecutionContext.IsFlowSuppressed() ? default(AsyncFlowControl?) : ExecutionContext.SuppressFlow())
        {
            _timer = new Timer(
                static state => ((CallDeadline)state!).OnTimer(), this, Timeout.Infinite, Timeout.Infinite);
        }

        Schedule();
    }

    /// <summary>When so much time will have passed, in UTC; the largest value where that is beyond it.</summary>
    public static DateTime UtcAfter(TimeSpan timeout, TimeProvider clock)
    {
        DateTime now = clock.GetUtcNow().UtcDateTime;
        return timeout < DateTime.MaxValue - now ? now + timeout : DateTime.MaxValue;
    }

    public void Dispose() => _timer.Dispose();

    /// <summary>What is left; zero or less when the deadline has passed.</summary>
    public TimeSpan Remaining => Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), _expiresAt);

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

        // Timers count whole milliseconds and cut off the rest.
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
