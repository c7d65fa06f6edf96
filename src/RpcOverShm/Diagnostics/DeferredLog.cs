using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Writes log entries on the thread pool, one after the other, because the user's logger may block: neither the reading
/// thread nor the holder of a lock may wait for it, and it occupies one thread of the pool at most. The number of
/// pending entries is limited, because a peer causes them; further ones are dropped, and the next entry that is written
/// is followed by one with their number.
/// </summary>
internal static class DeferredLog
{
    /// <summary>The maximum number of entries in this process that wait or are being written.</summary>
    public const int MaxPending = 256;

    private static readonly UninterruptibleLock s_lock = new();
    private static readonly Queue<Entry> s_entries = new();
    private static int s_pending; // entries in the queue or being written
    private static int s_dropped;

    /// <summary>Whether all entries so far were written.</summary>
    public static bool IsEmpty => Volatile.Read(ref s_pending) == 0;

    /// <summary>Queues an entry, or drops it if too many are pending, or if nobody has asked for a log.</summary>
    public static void Write(ILogger logger, Action<ILogger> entry)
    {
        if (logger == NullLogger.Instance)
        {
            return;
        }

        using (s_lock.Enter())
        {
            if (s_pending == MaxPending)
            {
                s_dropped++;
                return;
            }

            s_entries.Enqueue(new Entry(logger, entry));
            if (s_pending++ > 0)
            {
                return;
            }
        }

        PoolWork.Queue(static _ => WriteAll(), s_entries);
    }

    private static void WriteAll()
    {
        bool isMore;
        do
        {
            Entry entry;
            using (s_lock.Enter())
            {
                entry = s_entries.Dequeue();
            }

            // The logger is a GuardedLogger, which never throws.
            entry.Write(entry.Logger);
            int dropped;
            using (s_lock.Enter())
            {
                (dropped, s_dropped) = (s_dropped, 0);
                isMore = --s_pending > 0;
            }

            if (dropped > 0)
            {
                ShmLog.EntriesDropped(entry.Logger, dropped, MaxPending);
            }
        }
        while (isMore);
    }

    private sealed record Entry(ILogger Logger, Action<ILogger> Write);
}
