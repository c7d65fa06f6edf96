namespace RpcOverShm.Scheduling;

/// <summary>
/// One thread per process that checks the active connections: whether user code keeps a reader role for too long, and
/// whether a thread will read, or be woken to read, after a caller has left. A check's result says when it must run
/// again; without checks the thread sleeps. Hot paths only read a flag that tells whether their connection is watched.
/// </summary>
internal static class Watchdog
{
    private const int StackBytes = 128 << 10;

    // The second check detects that user code keeps a role: after one to two of these periods.
    private static readonly TimeSpan s_shortPeriod = TimeSpan.FromMilliseconds(1);

    // Without running user code the next check is less urgent.
    private static readonly TimeSpan s_longPeriod = TimeSpan.FromMilliseconds(5);

    private static readonly object s_gate = new();
    private static readonly List<Func<WatchdogCheck>> s_watched = [];
    private static bool s_isRunning;

    /// <summary>
    /// Calls a check every few milliseconds on the watchdog thread, until it returns <see cref="WatchdogCheck.Done"/>.
    /// The check must not wait. A check that was added twice is called twice per period.
    /// </summary>
    public static void Watch(Func<WatchdogCheck> check)
    {
        lock (s_gate)
        {
            s_watched.Add(check);
            if (!s_isRunning)
            {
                s_isRunning = TryStart();
            }

            Monitor.Pulse(s_gate);
        }
    }

    // If no thread can be started, the next Watch tries again. Until then no role is taken over.
    private static bool TryStart()
    {
        try
        {
            new Thread(Run, StackBytes) { IsBackground = true, Name = "RpcOverShm watchdog" }.UnsafeStart();
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

                // A new check ends this wait early. The others then run sooner than their period says, which can only
                // take a role over a little too soon.
                Monitor.Wait(s_gate, period);
                watched = [.. s_watched];
            }

            period = s_longPeriod;
            foreach (Func<WatchdogCheck> check in watched)
            {
                switch (check())
                {
                    case WatchdogCheck.Soon:
                        period = s_shortPeriod;
                        break;
                    case WatchdogCheck.Done:
                        lock (s_gate)
                        {
                            s_watched.Remove(check);
                        }

                        break;
                    default:
                        break;
                }
            }
        }
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
