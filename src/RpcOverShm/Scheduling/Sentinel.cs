namespace RpcOverShm.Scheduling;

/// <summary>
/// One thread per process that looks after connections whose reader has left in a hurry. A blocking caller that gives
/// the role up does not pay for asking to be rung when nothing is expected: while calls follow one another somebody
/// reads every few microseconds anyway. The sentinel looks a little later, and where nobody has read since, it sees to
/// it that somebody is rung. It sleeps while nobody is watched.
/// </summary>
internal static class Sentinel
{
    private const int StackBytes = 128 << 10;
    private static readonly TimeSpan s_period = TimeSpan.FromMilliseconds(5);

    private static readonly object s_gate = new();
    private static readonly List<Func<bool>> s_watched = [];
    private static bool s_isRunning;

    /// <summary>
    /// Calls <paramref name="look"/> every few milliseconds until it returns false, on the sentinel's thread: it waits
    /// for nothing. What was added twice is called twice.
    /// </summary>
    public static void Watch(Func<bool> look)
    {
        lock (s_gate)
        {
            s_watched.Add(look);
            if (!s_isRunning)
            {
                s_isRunning = true;
                new Thread(Run, StackBytes) { IsBackground = true, Name = "RpcOverShm sentinel" }.UnsafeStart();
            }

            Monitor.Pulse(s_gate);
        }
    }

    private static void Run()
    {
        while (true)
        {
            Func<bool>[] watched;
            lock (s_gate)
            {
                while (s_watched.Count == 0)
                {
                    Monitor.Wait(s_gate);
                }

                // A new entry may end this early, which only means one look more.
                Monitor.Wait(s_gate, s_period);
                watched = [.. s_watched];
            }

            foreach (Func<bool> look in watched)
            {
                if (!look())
                {
                    lock (s_gate)
                    {
                        s_watched.Remove(look);
                    }
                }
            }
        }
    }
}
