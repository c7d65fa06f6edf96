using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Who may read a connection's incoming ring: at most one thread at a time. A pure state machine on one word, changed
/// only by compare-exchange on the whole of it; it does not wait, pump or wake. Only the holder touches the reader's
/// private state, arms, disarms and publishes the head. Any thread may try to take the role.
/// <code>
///  63                                   2 1 0
///  +-------------------------------------+---+
///  | generation: takings so far          | S |   S: 0 free, 1 reading, 3 retired (no one reads again)
///  +-------------------------------------+---+
/// </code>
/// </summary>
internal sealed class ReaderRole
{
    private const long StateMask = 3;
    private const long Free = 0;
    private const long Reading = 1;
    private const long Retired = 3;
    private const long OneGeneration = 4;

    private long _word;

    /// <summary>True when nobody reads and somebody could.</summary>
    public bool IsFree => (Volatile.Read(ref _word) & StateMask) == Free;

    /// <summary>How often the role was taken so far. For noticing that somebody has read.</summary>
    public long Generation => Volatile.Read(ref _word) / OneGeneration;

    /// <summary>
    /// Takes the role if it is free. A full fence either way: what the last holder did is visible to this one.
    /// </summary>
    public bool TryTake(out Token token)
    {
        long word = Volatile.Read(ref _word);
        long taken = (word & ~StateMask) + OneGeneration + Reading;
        token = new Token(taken);
        return (word & StateMask) == Free && Interlocked.CompareExchange(ref _word, taken, word) == word;
    }

    /// <summary>
    /// Gives the role up. A full fence: whoever gave it up then looks whether somebody else will read.
    /// </summary>
    public void Release(Token token)
    {
        long before = Interlocked.CompareExchange(ref _word, token.Word & ~StateMask, token.Word);
        Debug.Assert(before == token.Word, "Only the holder gives the role up.");
    }

    /// <summary>Ends the role for good: nobody reads this ring again, and its memory may go.</summary>
    public void Retire(Token token)
    {
        long before = Interlocked.CompareExchange(ref _word, token.Word | Retired, token.Word);
        Debug.Assert(before == token.Word, "Only the holder retires the role.");
    }

    /// <summary>Proof of one taking.</summary>
    internal readonly record struct Token(long Word);
}
