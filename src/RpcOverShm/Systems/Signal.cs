using System.Runtime.InteropServices;

namespace RpcOverShm.Systems;

/// <summary>
/// Puts threads to sleep until a shared word changes, and wakes the sleepers on a word: the interface to the operating
/// system. One instance serves one side of one link; up to four threads of a side may sleep on each of the link's
/// words. All members are thread-safe. The caller must keep the segments of the words alive.
/// <para>
/// Local events (a close, the peer's death, a cancelled call) change no shared word; they increment a counter and wake
/// the sleepers too. A sleeper samples the counter first, then checks all its conditions, then sleeps with the sample,
/// so that an event in between is not lost.
/// </para>
/// </summary>
internal abstract class Signal : IDisposable
{
    /// <summary>The word with the number of local events, on which sleepers may sleep.</summary>
    protected LocalWord LocalEventsWord { get; } = new();

    /// <summary>
    /// The number of local events; wraps around. A caller must sample it before it checks its conditions. Not virtual,
    /// because it is no system call.
    /// </summary>
    public uint LocalEvents => Volatile.Read(ref LocalEventsWord.Value);

    /// <summary>
    /// The handles that the peer needs to wake this side's sleepers: they go with the hello, behind that of the memory.
    /// </summary>
    public abstract IReadOnlyList<SafeHandle> Offer { get; }

    /// <summary>
    /// Connects the signal with the words of its link and with what the peer has passed. Called once, before all others
    /// but <see cref="LocalEvents"/> and <see cref="RaiseLocalEvent"/>. Takes the handles over, also when it throws.
    /// </summary>
    /// <param name="words">The words of both sides.</param>
    /// <param name="ofPeer">The peer's <see cref="Offer"/>, which is not trusted.</param>
    /// <exception cref="SegmentException">A handle failed a check.</exception>
    public abstract void Attach(SignalWords words, IReadOnlyList<SafeHandle> ofPeer);

    /// <summary>
    /// Sleeps until the word differs from <paramref name="expected"/>, either process calls <see cref="Wake"/> on it,
    /// <see cref="LocalEvents"/> differs from <paramref name="localEventsSeen"/>, or the timeout has passed. Wake-ups
    /// can be spurious: the caller must check its conditions again.
    /// </summary>
    /// <returns>False if the timeout has passed and no other reason for the return is known.</returns>
    public abstract bool Wait(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout);

    /// <summary>
    /// Wakes the sleepers on the word, up to four: a peer that has more there must not make this thread wake all of
    /// them. The word need not have changed.
    /// </summary>
    public abstract void Wake(SharedWord word);

    /// <summary>Counts a local event and wakes all sleepers of this instance.</summary>
    public abstract void RaiseLocalEvent();

    public abstract void Dispose();
}

/// <summary>The words of a link: the peer sleeps on this side's, and this side on the peer's.</summary>
internal readonly record struct SignalWords(
    SharedWord OwnTail, SharedWord OwnHead, SharedWord PeerTail, SharedWord PeerHead);
