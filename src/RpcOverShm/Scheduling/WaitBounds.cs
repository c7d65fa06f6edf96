namespace RpcOverShm.Scheduling;

/// <summary>The time-outs of sleeps: a safety net, on which correctness never depends.</summary>
internal static class WaitBounds
{
    /// <summary>
    /// The safety timeout: the longest that a thread sleeps without a check, unless its connection is idle. It guards
    /// against a peer that withholds wake-ups, suspended machines, and defects of this library. A sleep for data that
    /// times out although data is there is logged and counted as a lost wake-up. The value is not a whole second
    /// because deadlines often are: the peer's reaction to a deadline would arrive just when a sleep that began with
    /// the call times out, and would look like a lost wake-up.
    /// </summary>
    public static readonly TimeSpan SafetyTimeout = TimeSpan.FromMilliseconds(1100);

    /// <summary>A thread that runs again this long after its timeout had to wait for a processor.</summary>
    public static readonly TimeSpan OnTime = TimeSpan.FromMilliseconds(10);

    /// <summary>The longest time from the publication of data to its wake before the wake-up counts as lost.</summary>
    public static readonly TimeSpan LateWake = TimeSpan.FromMilliseconds(250);

    /// <summary>
    /// The time for which a blocked thread of the user sleeps in the ways that wake it fastest. .NET knows nothing of a
    /// sleep in a system call: its thread pool adds no other thread, and <see cref="Thread.Interrupt"/> does not end
    /// it. So the thread goes on in a wait of .NET, which costs some microseconds more.
    /// </summary>
    public static readonly TimeSpan MaxFastWait = TimeSpan.FromMilliseconds(20);

    /// <summary>
    /// Returns the timeout of a sleep of a thread that has a deadline, or none: the safety timeout, or the remaining
    /// time if that is shorter, in whole milliseconds so that the sleep does not end just before the deadline.
    /// </summary>
    public static TimeSpan Within(TimeSpan? remaining) => Within(remaining, SafetyTimeout);

    /// <summary>Returns the same for a thread that sleeps no longer than the given time.</summary>
    public static TimeSpan Within(TimeSpan? remaining, TimeSpan longest)
    {
        TimeSpan time = remaining < longest ? remaining.Value : longest;
        return TimeSpan.FromMilliseconds(Math.Max(0, Math.Ceiling(time.TotalMilliseconds)));
    }

    // A sleep that times out makes the next one four times as long, at most twice: 1.1 s, 4.4 s, 17.6 s.
    private const int Growth = 4;
    private const int MostGrown = 2;

    /// <summary>
    /// Returns the time-out of an event loop's sleep, after that many time-outs in a row. With a constant one, the
    /// checks of many idle connections would cost a good part of a processor's time.
    /// </summary>
    public static TimeSpan AfterSilence(int sleeps) => SafetyTimeout * Math.Pow(Growth, Math.Min(sleeps, MostGrown));
}
