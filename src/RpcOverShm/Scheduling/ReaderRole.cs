using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Who may read a connection's incoming ring: at most one thread at a time. A pure state machine on one word, changed
/// only as a whole; it does not wait, pump or wake. Only the holder touches the reader's private state, arms, disarms
/// and publishes the head, and only while it reads: a holder that runs user code touches nothing, because the role can
/// be taken from it meanwhile.
/// <code>
///  63                                   2 1 0
///  +-------------------------------------+---+
///  | generation                          | S |   S: 0 free, 1 reading, 2 in user code, 3 retired (no one reads again)
///  +-------------------------------------+---+
///
///   free --TryTake--> reading --EnterUserCode--> in user code --TryReturn--> reading --Release--> free
///                        |                            |
///                        +--Retire--> retired         +--TryTakeOver--> free
/// </code>
/// The generation grows with every taking, every entering of user code and every rescue: a thread that comes back and
/// finds another word has lost the role, and whoever sees the same word twice sees one stay in user code.
/// </summary>
internal sealed class ReaderRole
{
    private const long StateMask = 3;
    private const long Free = 0;
    private const long Reading = 1;
    private const long UserCode = 2;
    private const long Retired = 3;
    private const long OneGeneration = 4;

    private long _word;

    /// <summary>True when nobody reads and somebody could.</summary>
    public bool IsFree => (Volatile.Read(ref _word) & StateMask) == Free;

    /// <summary>True when nobody will ever read again.</summary>
    public bool IsRetired => (Volatile.Read(ref _word) & StateMask) == Retired;

    /// <summary>The word as it is now, to be compared later or given to <see cref="TryTakeOver"/>.</summary>
    public long Word => Volatile.Read(ref _word);

    public static bool IsInUserCode(long word) => (word & StateMask) == UserCode;

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

    /// <summary>The holder is about to run user code. A full fence.</summary>
    public void EnterUserCode(ref Token token)
    {
        token = new Token((token.Word & ~StateMask) + OneGeneration + UserCode);
        Interlocked.Exchange(ref _word, token.Word);
    }

    /// <summary>
    /// Back from user code: true when the role was kept, false when it was taken away and must not be used.
    /// </summary>
    public bool TryReturn(ref Token token)
    {
        long reading = (token.Word & ~StateMask) + Reading;
        bool isKept = Interlocked.CompareExchange(ref _word, reading, token.Word) == token.Word;
        token = isKept ? new Token(reading) : default;
        return isKept;
    }

    /// <summary>Takes the role from a holder that is still in the user code of this word. It is free then.</summary>
    public bool TryTakeOver(long word)
    {
        Debug.Assert(IsInUserCode(word), "Only from user code is the role taken away.");
        long free = (word & ~StateMask) + OneGeneration;
        return Interlocked.CompareExchange(ref _word, free, word) == word;
    }

    /// <summary>Ends the role for good: nobody reads this ring again, and its memory may go.</summary>
    public void Retire(Token token)
    {
        long before = Interlocked.CompareExchange(ref _word, token.Word | Retired, token.Word);
        Debug.Assert(before == token.Word, "Only the holder retires the role.");
    }

    /// <summary>Proof of one taking, or of one run of user code.</summary>
    internal readonly record struct Token(long Word);
}
