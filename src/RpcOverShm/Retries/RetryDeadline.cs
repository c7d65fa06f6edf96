using RpcOverShm.Calls;

namespace RpcOverShm.Retries;

/// <summary>
/// The deadline of a retried call: one point on the monotonic clock for all attempts, so that setting the wall clock
/// does not move it.
/// </summary>
internal sealed class RetryDeadline(TimeSpan timeout, TimeProvider clock)
{
    private readonly long _begin = clock.GetTimestamp();

    /// <summary>The remaining time; zero or less after the deadline.</summary>
    public TimeSpan Remaining => timeout - clock.GetElapsedTime(_begin);

    /// <summary>The deadline as wall-clock time (UTC), for an attempt that begins now.</summary>
    public DateTime Deadline
    {
        get
        {
            TimeSpan remaining = Remaining;
            return remaining <= TimeSpan.Zero ? DateTime.MinValue : CallDeadline.UtcAfter(remaining, clock);
        }
    }
}
