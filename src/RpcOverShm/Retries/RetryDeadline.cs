using RpcOverShm.Calls;

namespace RpcOverShm.Retries;

/// <summary>
/// When the time of a call with several attempts is up: one moment of the monotonic clock for all of them, so that
/// setting the wall clock moves no deadline.
/// </summary>
/// <param name="timeout">From now; zero or less for a call whose time was up before it began.</param>
/// <param name="clock">What the time is.</param>
internal sealed class RetryDeadline(TimeSpan timeout, TimeProvider clock)
{
    private readonly long _begin = clock.GetTimestamp();

    /// <summary>What is left; zero or less when the time is up.</summary>
    public TimeSpan Remaining => timeout - clock.GetElapsedTime(_begin);

    /// <summary>The same moment as the wall clock has it now: the deadline of an attempt that begins now.</summary>
    public DateTime Deadline
    {
        get
        {
            TimeSpan remaining = Remaining;
            return remaining <= TimeSpan.Zero ? DateTime.MinValue : CallDeadline.UtcAfter(remaining, clock);
        }
    }
}
