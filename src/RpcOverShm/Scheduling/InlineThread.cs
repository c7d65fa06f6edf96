namespace RpcOverShm.Scheduling;

/// <summary>
/// What a thread that may run user code inline knows of itself: one for each standby and spare. Its own thread writes
/// it; nobody else looks.
/// </summary>
internal sealed class InlineThread(ReaderRole role)
{
    [ThreadStatic]
    private static InlineThread? s_current;

    /// <summary>The inline thread that is running this, or null on any other thread.</summary>
    public static InlineThread? Current
    {
        get => s_current;
        set => s_current = value;
    }

    /// <summary>Of the connection that the thread reads.</summary>
    public ReaderRole Role => role;

    /// <summary>True while user code runs. It may have lost the role meanwhile.</summary>
    public bool IsInUserCode { get; set; }

    /// <summary>
    /// Of the reader role, while user code runs; a nested call takes the role back and makes a new one.
    /// </summary>
    public ReaderRole.Token Token;

    /// <summary>
    /// True when the calling thread runs user code inline for this connection and still holds its reader role: it will
    /// read on afterwards, and publish what was held back.
    /// </summary>
    public static bool IsHolderInUserCode(ReaderRole role) =>
        s_current is { IsInUserCode: true } me
        && me.Role == role
        && ReaderRole.IsInUserCode(me.Token.Word)
        && role.Word == me.Token.Word;
}
