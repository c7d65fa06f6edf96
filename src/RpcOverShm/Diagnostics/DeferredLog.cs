using Microsoft.Extensions.Logging;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Writes log entries on the thread pool, because the user's logger may block and the reading thread must not. The
/// number of pending entries is limited, because a peer causes them; further ones are dropped, and the next entry that
/// is written is followed by one with their number.
/// </summary>
internal static class DeferredLog
{
    /// <summary>The maximum number of entries in this process that wait or are being written.</summary>
    public const int MaxPending = 256;

    private static int s_pending;
    private static int s_dropped;

    /// <summary>Queues an entry, or drops it if too many are pending.</summary>
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
        // The logger is a GuardedLogger, which never throws.
        entry(logger);
        int dropped = Interlocked.Exchange(ref s_dropped, 0);
        if (dropped > 0)
        {
            ShmLog.EntriesDropped(logger, dropped, MaxPending);
        }

        Interlocked.Decrement(ref s_pending);
    }
}
