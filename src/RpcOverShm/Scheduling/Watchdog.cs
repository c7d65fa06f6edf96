namespace RpcOverShm.Scheduling;

/// <summary>
/// One thread per process that looks after connections on which something happens: whether user code keeps a reader
/// role for too long, and whether somebody will read where a caller has left in a hurry. Whoever is looked after says
/// whether to be looked at again; while nobody is, the sentinel sleeps. So the hot paths pay for a look at a flag.
/// </summary>
internal static class Watchdog
{
    private const int StackBytes = 128 << 10;

    // User code that keeps a role is noticed at the second look: after 1 to 2 of these.
    private static readonly TimeSpan s_shortPeriod = TimeSpan.FromMilliseconds(1);

    // Where no user code runs there is less of a hurry.
    private static readonly TimeSpan s_longPeriod = TimeSpan.FromMilliseconds(5);

    private static readonly object s_gate = new();
    private static readonly List<Func<WatchdogCheck>> s_watched = [];
    private static bool s_isRunning;

    /// <summary>
    /// Calls <paramref name="look"/> every few milliseconds until it is done with, on the sentinel's thread: it waits
    /// for nothing. What was added twice is called twice.
    /// </summary>
    public static void Watch(Func<WatchdogCheck> look)
    {
        lock (s_gate)
        {
            s_watched.Add(look);
            if (!s_isRunning)
            {
                s_isRunning = TryStart();
            }

            Monitor.Pulse(s_gate);
        }
    }

    // Without a thread the next who wants to be looked after tries again. Until then nobody is rescued.
    private static bool TryStart()
    {
        try
        {
            new Thread(Run, StackBytes) { IsBackground = true, Name = "RpcOverShm sentinel" }.UnsafeStart();
            return true;
        }
        catch (Exception exception) when (exception is OutOfMemoryException or ThreadStartException)
        {
            return false;
        }
    }

    private static void Run()
    {
        TimeSpan period = s_shortPeriod;
        while (true)
        {
            Func<WatchdogCheck>[] watched;
            lock (s_gate)
            {
                while (s_watched.Count == 0)
                {
                    Monitor.Wait(s_gate);
                    period = s_shortPeriod;
                }

                // A new entry ends this early, which only means one look more.
                Monitor.Wait(s_gate, period);
                watched = [.. s_watched];
            }

            period = s_longPeriod;
            foreach (Func<WatchdogCheck> look in watched)
            {
                switch (look())
                {
                    case WatchdogCheck.Soon:
                        period = s_shortPeriod;
                        break;
                    case WatchdogCheck.Done:
                        lock (s_gate)
                        {
                            s_watched.Remove(look);
                        }

                        break;
                    default:
                        break;
                }
            }
        }
    }
}

/// <summary>When the sentinel is to look again.</summary>
internal enum WatchdogCheck
{
    /// <summary>Not any more, until it is asked to.</summary>
    Done,

    /// <summary>In a few milliseconds.</summary>
    Later,

    /// <summary>In a millisecond: user code may be running.</summary>
    Soon,
}
