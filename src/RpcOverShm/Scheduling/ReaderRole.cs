using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The reader role of one connection: at most one thread holds it and reads the incoming ring. It is a state machine in
/// one word, which changes atomically; it never waits or wakes. Only the holder touches the reader's private state,
/// arms, disarms and publishes the head, and only in the state "reading": a holder that runs user code must touch
/// nothing of the ring, because another thread may take the role over meanwhile.
/// <code>
///  63                                   2 1 0
///  +-------------------------------------+---+
///  | generation                          | S |   S: 0 free, 1 reading, 2 in user code, 3 retired (final)
///  +-------------------------------------+---+
///
///   free --TryTake--> reading --EnterUserCode--> in user code --TryReturn--> reading --Release--> free
///                        |                            |
///                        +--Retire--> retired         +--TryTakeOver--> free
/// </code>
/// TryTake, EnterUserCode and TryTakeOver increment the generation. So a thread that returns from user code and finds
/// another word has lost the role, and a watchdog that reads the same "in user code" word twice has seen one single run
/// of user code.
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

    /// <summary>Whether the role can be taken: no thread holds it, and it is not retired.</summary>
    public bool IsFree => (Volatile.Read(ref _word) & StateMask) == Free;

    /// <summary>Whether the role has ended: no thread ever reads this ring again.</summary>
    public bool IsRetired => (Volatile.Read(ref _word) & StateMask) == Retired;

    /// <summary>The current word, for a later comparison or for <see cref="TryTakeOver"/>.</summary>
    public long Word => Volatile.Read(ref _word);

    public static bool IsInUserCode(long word) => (word & StateMask) == UserCode;

    /// <summary>
    /// Takes the role if it is free. Success is a full fence and makes everything that the last holder did visible to
    /// this thread. Failure is only an acquire.
    /// </summary>
    public bool TryTake(out Token token)
    {
        long word = Volatile.Read(ref _word);
        long taken = (word & ~StateMask) + OneGeneration + Reading;
        token = new Token(taken);
        return (word & StateMask) == Free && Interlocked.CompareExchange(ref _word, taken, word) == word;
    }

    /// <summary>Frees the role. A full fence: the caller must then check that another thread will read.</summary>
    public void Release(Token token)
    {
        long before = Interlocked.CompareExchange(ref _word, token.Word & ~StateMask, token.Word);
        Debug.Assert(before == token.Word, "Only the holder gives the role up.");
    }

    /// <summary>Marks the role as held by a thread that is about to run user code. A full fence.</summary>
    public void EnterUserCode(ref Token token)
    {
        token = new Token((token.Word & ~StateMask) + OneGeneration + UserCode);
        Interlocked.Exchange(ref _word, token.Word);
    }

    /// <summary>
    /// Returns the role from user code to reading. False if another thread has taken it over: the caller must then not
    /// touch the ring.
    /// </summary>
    public bool TryReturn(ref Token token)
    {
        long reading = (token.Word & ~StateMask) + Reading;
        bool isKept = Interlocked.CompareExchange(ref _word, reading, token.Word) == token.Word;
        token = isKept ? new Token(reading) : default;
        return isKept;
    }

    /// <summary>Frees the role if its holder is still in the run of user code that this word stands for.</summary>
    public bool TryTakeOver(long word)
    {
        Debug.Assert(IsInUserCode(word), "Only from user code is the role taken away.");
        long free = (word & ~StateMask) + OneGeneration;
        return Interlocked.CompareExchange(ref _word, free, word) == word;
    }

    /// <summary>Ends the role: no thread reads this ring again, and its memory may be unmapped.</summary>
    public void Retire(Token token)
    {
        long before = Interlocked.CompareExchange(ref _word, token.Word | Retired, token.Word);
        Debug.Assert(before == token.Word, "Only the holder retires the role.");
    }

    /// <summary>Proof that the thread has taken the role, or has entered one run of user code.</summary>
    internal readonly record struct Token(long Word);
}
