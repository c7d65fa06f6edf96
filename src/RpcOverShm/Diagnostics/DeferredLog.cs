using Microsoft.Extensions.Logging;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Writes log entries on the thread pool, for threads that read for others: a user's logger may take its time. Entries
/// that wait for a slow logger are limited, because a peer causes them; the next one says how many were dropped.
/// </summary>
internal static class DeferredLog
{
    /// <summary>The most entries of this process that wait, or are being written, at a time.</summary>
    public const int MaxPending = 256;

    private static int s_pending;
    private static int s_dropped;

    /// <summary>Has an entry written soon, unless too many wait.</summary>
    public static void Write(ILogger logger, Action<ILogger> entry)
    {
        if (Interlocked.Increment(ref s_pending) > MaxPending)
        {
            Interlocked.Decrement(ref s_pending);
            Interlocked.Increment(ref s_dropped);
            return;
        }

        ThreadPool.UnsafeQueueUserWorkItem(_ => WriteNow(logger, entry), null);
    }

    private static void WriteNow(ILogger logger, Action<ILogger> entry)
    {
        // The logger is a GuardedLogger, which throws nothing.
        entry(logger);
        int dropped = Interlocked.Exchange(ref s_dropped, 0);
        if (dropped > 0)
        {
            ShmLog.EntriesDropped(logger, dropped, MaxPending);
        }

        Interlocked.Decrement(ref s_pending);
    }
}
