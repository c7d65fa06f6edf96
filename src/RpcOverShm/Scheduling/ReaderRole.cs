using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The reader role of one connection: at most one thread holds it and reads the incoming ring. It is a state machine in
/// one word, which changes atomically; it never waits or wakes. Only the holder touches the reader's private state,
/// arms, disarms and publishes the head. No thread holds the role while it runs user code.
/// <code>
///  63                                   2 1 0
///  +-------------------------------------+---+
///  | generation                          | S |   S: 0 free, 1 reading, 3 ended (final)
///  +-------------------------------------+---+
///
///   free --TryTake--> reading --Release--> free
///                        |
///                        +--End--> ended
/// </code>
/// TryTake increments the generation, so equal words mean that nobody has read in between.
/// </summary>
/// <param name="isOfLoopOnly">
/// Whether only the thread of the connection's event loop takes the role, because this side makes no calls. Then the
/// role needs no interlocked operation: it is free whenever the loop passes to another thread.
/// </param>
internal sealed class ReaderRole(bool isOfLoopOnly = false)
{
    private const long StateMask = 3;
    private const long Free = 0;
    private const long Reading = 1;
    private const long Ended = 3;
    private const long OneGeneration = 4;

    private long _word;

    /// <summary>Whether the role can be taken: no thread holds it, and it has not ended.</summary>
    public bool IsFree => (Volatile.Read(ref _word) & StateMask) == Free;

    /// <summary>Whether the role has ended: no thread ever reads this ring again.</summary>
    public bool HasEnded => (Volatile.Read(ref _word) & StateMask) == Ended;

    public bool IsOfLoopOnly => isOfLoopOnly;

    /// <summary>The current word, for a later comparison.</summary>
    public long Word => Volatile.Read(ref _word);

    /// <summary>
    /// Takes the role if it is free. Success makes everything that the last holder did visible to this thread, and is a
    /// full fence if several threads may take the role. Failure is only an acquire.
    /// </summary>
    public bool TryTake()
    {
        long word = Volatile.Read(ref _word);
        if ((word & StateMask) != Free)
        {
            return false;
        }

        long taken = word + OneGeneration + Reading;
        if (isOfLoopOnly)
        {
            Volatile.Write(ref _word, taken);
            return true;
        }

        return Interlocked.CompareExchange(ref _word, taken, word) == word;
    }

    /// <summary>
    /// Frees the role. A full fence if several threads may take it: the caller must then check that another thread will
    /// read.
    /// </summary>
    public void Release()
    {
        Debug.Assert((_word & StateMask) == Reading, "Only the holder gives the role up.");
        long free = _word & ~StateMask;
        if (isOfLoopOnly)
        {
            Volatile.Write(ref _word, free);
        }
        else
        {
            Interlocked.Exchange(ref _word, free);
        }
    }

    /// <summary>Ends the role: no thread reads this ring again, and its memory may be unmapped.</summary>
    public void End()
    {
        Debug.Assert((_word & StateMask) == Reading, "Only the holder ends the role.");
        Interlocked.Exchange(ref _word, _word | Ended);
    }
}
