namespace RpcOverShm.Calls;

/// <summary>The deadline of a call as wall-clock time, which users see.</summary>
internal static class CallDeadline
{
    /// <summary>Returns the UTC time at the end of the timeout, or the maximum value if that is out of range.</summary>
    public static DateTime UtcAfter(TimeSpan timeout, TimeProvider clock)
    {
        DateTime now = clock.GetUtcNow().UtcDateTime;
        return timeout < DateTime.MaxValue - now ? now + timeout : DateTime.MaxValue;
    }
}
