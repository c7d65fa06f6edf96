using System.Diagnostics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// One thread per process that checks event loops and active connections: whether user code keeps a loop for too long,
/// and whether a thread will read, or be woken to read, after a caller has left. A check's result says when it must run
/// again. The thread also runs what is due at a time (<see cref="DueTime"/>), such as the deadlines of calls. With
/// nothing to check and nothing due it sleeps. Hot paths only read a flag that tells whether they are watched.
/// <para>
/// Two checks of one connection are at least a period apart, however many connections are added meanwhile: a second
/// check that comes early would take short user code for code that blocks.
/// </para>
/// </summary>
internal static class Watchdog
{
    private const int StackBytes = 128 << 10;

    // The second check detects that user code keeps a loop: one to two of these periods after that has begun.
    private static readonly TimeSpan s_shortPeriod = TimeSpan.FromMilliseconds(1);

    private static readonly long s_shortTicks = (long)(s_shortPeriod.TotalSeconds * Stopwatch.Frequency);

    // Without running user code the next check is less urgent.
    private static readonly TimeSpan s_longPeriod = TimeSpan.FromMilliseconds(5);

    // The pause after the system had no thread, because an attempt costs more than a call.
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(100);

    private static readonly UninterruptibleLock s_lock = new();
    private static readonly List<Entry> s_watched = [];
    private static bool s_isRunning;
    private static long s_wakesAt = long.MaxValue; // when the thread's wait ends; the minimum while it does not wait
    private static long s_failedAt;                // when the thread could not be started; 0 if never
    private static long s_checks;

    /// <summary>The number of checks so far in this process.</summary>
    public static long Checks => Interlocked.Read(ref s_checks);

    /// <summary>
    /// Calls a check every few milliseconds on the watchdog thread, until it returns <see cref="WatchdogCheck.Done"/>.
    /// The check must not wait. A check that was added twice is called twice per period.
    /// </summary>
    /// <returns>
    /// False if there is no thread or no memory: nothing is watched, and the caller should try again.
    /// </returns>
    public static bool Watch(Func<WatchdogCheck> check)
    {
        using (s_lock.Enter())
        {
            if (!EnsureThread())
            {
                return false;
            }

            try
            {
                s_watched.Add(new Entry(check));
            }
            catch (OutOfMemoryException)
            {
                return false;
            }

            EndWaitAfter(Stopwatch.GetTimestamp() + s_shortTicks);
            return true;
        }
    }

    /// <summary>
    /// Ensures that the thread looks for due times by this time. Without a thread for the watchdog, they are late: the
    /// next call with a deadline tries to start it again, and so do event loops (<see cref="EnsureDueTimesRun"/>).
    /// </summary>
    public static void WakeBy(long at)
    {
        // StoreLoad: the due time is stored before this look. The thread stores when it wakes before it looks for them.
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref s_wakesAt) > at)
        {
            using (s_lock.Enter())
            {
                if (EnsureThread())
                {
                    EndWaitAfter(at);
                }
            }
        }
    }

    /// <summary>Ensures that due times have a thread, which the system may have refused before.</summary>
    public static void EnsureDueTimesRun()
    {
        if (DueTime.Earliest is var earliest and < long.MaxValue)
        {
            WakeBy(earliest);
        }
    }

    // Under the lock.
    private static void EndWaitAfter(long at)
    {
        if (s_wakesAt > at)
        {
            s_lock.Pulse();
        }
    }

    // Under the lock.
    private static bool EnsureThread()
    {
        if (s_isRunning)
        {
            return true;
        }

        if (s_failedAt != 0 && Stopwatch.GetElapsedTime(s_failedAt) < s_pauseAfterFailure)
        {
            return false;
        }

        if (BackgroundThread.TryStart(Run, "RpcOverShm watchdog", StackBytes) is null)
        {
            s_isRunning = true;
            return true;
        }

        s_failedAt = Stopwatch.GetTimestamp();
        return false;
    }

    private static void Run()
    {
        var entries = new List<Entry>();
        TimeSpan period = s_shortPeriod;
        while (true)
        {
            using (s_lock.Enter())
            {
                s_watched.RemoveAll(static entry => entry.IsDone);
                Wait(s_watched.Count == 0 ? Timeout.InfiniteTimeSpan : period);
                entries.Clear();
                entries.AddRange(s_watched);
            }

            DueTime.RunDue();
            period = Check(entries) ? s_shortPeriod : s_longPeriod;
        }
    }

    // Under the lock.
    private static void Wait(TimeSpan longest)
    {
        long until = longest == Timeout.InfiniteTimeSpan ? long.MaxValue : DueTime.After(longest);

        // StoreLoad: the end of the wait is stored before the look for due times, which may make it earlier.
        Interlocked.Exchange(ref s_wakesAt, until);
        until = Math.Min(until, DueTime.Earliest);
        Volatile.Write(ref s_wakesAt, until);
        TimeSpan time = DueTime.Until(until);
        if (time > TimeSpan.Zero)
        {
            // In whole milliseconds, because the rest would be cut off.
            double milliseconds = Math.Min(Math.Ceiling(time.TotalMilliseconds), int.MaxValue);
            s_lock.WaitOnOwnThread(TimeSpan.FromMilliseconds(milliseconds));
        }

        Volatile.Write(ref s_wakesAt, long.MinValue);
    }

    // Returns whether a check is due after the short period.
    private static bool Check(List<Entry> entries)
    {
        bool isSoon = false;
        foreach (Entry entry in entries)
        {
            long now = Stopwatch.GetTimestamp();
            if (now >= entry.DueAt)
            {
                Interlocked.Increment(ref s_checks);
                WatchdogCheck next = entry.Check();
                TimeSpan period = next == WatchdogCheck.Soon ? s_shortPeriod : s_longPeriod;
                entry.DueAt = Stopwatch.GetTimestamp() + (long)(period.TotalSeconds * Stopwatch.Frequency);
                entry.IsDone = next == WatchdogCheck.Done;
                isSoon |= next == WatchdogCheck.Soon;
            }
            else
            {
                isSoon |= Stopwatch.GetElapsedTime(now, entry.DueAt) <= s_shortPeriod;
            }
        }

        return isSoon;
    }

    private sealed class Entry(Func<WatchdogCheck> check)
    {
        public Func<WatchdogCheck> Check { get; } = check;

        // A time stamp; 0 for at once. Used by the watchdog's thread only, like IsDone.
        public long DueAt { get; set; }

        public bool IsDone { get; set; }
    }
}

/// <summary>The time of the next check by the watchdog.</summary>
internal enum WatchdogCheck
{
    /// <summary>Never, unless the check is added again.</summary>
    Done,

    /// <summary>In a few milliseconds.</summary>
    Later,

    /// <summary>In a millisecond, because user code may be running.</summary>
    Soon,
}
