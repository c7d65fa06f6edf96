using RpcOverShm.Segments;

namespace RpcOverShm.Signals;

/// <summary>
/// Sleep until a shared word changes, and wake whoever sleeps on it: the seam to the operating system. One instance
/// serves one side of one connection; any number of its threads may sleep on any of the connection's words. All members
/// may be called from any thread. Whoever calls holds the segments of the words alive.
/// <para>
/// A sleeper also hears of local events (a close, a peer's death, a cancelled call), which change no shared word: each
/// raises the attention counter. A sleeper samples the counter first, then looks at everything it waits for, then
/// sleeps with the sample, so that an event in between is not lost.
/// </para>
/// </summary>
internal interface ISignal
{
    /// <summary>
    /// The number of local events so far, wrapping around. To be sampled before the caller's own conditions.
    /// </summary>
    uint LocalEvents { get; }

    /// <summary>
    /// Sleeps until the word differs from <paramref name="expected"/>, <see cref="Wake"/> is called on it in either
    /// process, the attention counter differs from <paramref name="localEventsSeen"/>, or the time-out has passed. May
    /// return at any time for no reason: the caller looks again at what it waits for.
    /// </summary>
    /// <returns>False when the time-out passed without any of the others, as far as is known.</returns>
    bool Wait(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout);

    /// <summary>
    /// Wakes all sleepers on the word, here and in the peer. All, because an armed standby reader and a parked caller
    /// may sleep on one word, and waking one can wake the wrong one. The word need not have changed.
    /// </summary>
    void Wake(SharedWord word);

    /// <summary>Counts a local event and wakes every sleeper of this instance.</summary>
    void RaiseLocalEvent();
}
