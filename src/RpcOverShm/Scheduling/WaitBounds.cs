namespace RpcOverShm.Scheduling;

/// <summary>The bounds of waits that no correct run relies on.</summary>
internal static class WaitBounds
{
    /// <summary>
    /// The longest that any thread sleeps without looking again: a guard against a peer that withholds rings, suspended
    /// machines and mistakes of our own. Every case in which it finds something to do is counted and logged. Not
    /// a whole second, as deadlines are: what they make the peer write would come at the very moment when a sleep that
    /// began with the call ends, and look like data that nobody was rung for.
    /// </summary>
    public static readonly TimeSpan SafetyTimeout = TimeSpan.FromMilliseconds(1100);

    /// <summary>
    /// How long a ring may come after the data that it is for, before it is taken for one that was never given.
    /// </summary>
    public static readonly TimeSpan LateWake = TimeSpan.FromMilliseconds(250);

    // Each sleep that ends by its bound makes the next one so much longer, twice: 1.1 s, 4.4 s, 17.6 s.
    private const int Growth = 4;
    private const int MostGrown = 2;

    /// <summary>
    /// The bound of a reader that nothing was sent to for so many sleeps, on a connection without calls: many idle
    /// connections would otherwise cost a good part of a processor's time by looking.
    /// </summary>
    public static TimeSpan AfterSilence(int sleeps) => SafetyTimeout * Math.Pow(Growth, Math.Min(sleeps, MostGrown));
}
