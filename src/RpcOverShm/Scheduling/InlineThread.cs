namespace RpcOverShm.Scheduling;

/// <summary>
/// The state of a thread that may run user code inline: a standby reader or a spare. Only that thread reads or writes
/// it.
/// </summary>
internal sealed class InlineThread(ReaderRole role)
{
    [ThreadStatic]
    private static InlineThread? s_current;

    /// <summary>The state of the calling thread; null if that is neither a standby reader nor a spare.</summary>
    public static InlineThread? Current
    {
        get => s_current;
        set => s_current = value;
    }

    /// <summary>The operating system's number of the thread that has created this object, its user.</summary>
    public int ThreadId { get; } = ThreadClock.CurrentThreadId;

    /// <summary>The reader role of the connection that the thread reads.</summary>
    public ReaderRole Role => role;

    /// <summary>Whether user code is running. The thread may have lost the reader role meanwhile.</summary>
    public bool IsInUserCode { get; set; }

    /// <summary>
    /// Whether the running user code is of a quick kind, so the frames that it sends may be published a little later.
    /// </summary>
    public bool MayDefer { get; set; }

    /// <summary>
    /// The token of the reader role while user code runs. A nested blocking call replaces the token, because the call
    /// returns the role to reading and, when it ends, enters user code anew.
    /// </summary>
    public ReaderRole.Token Token;

    /// <summary>
    /// Returns whether the calling thread runs quick user code inline for this connection and still holds its reader
    /// role. If so, the thread continues to read after the user code, and then publishes what was deferred.
    /// </summary>
    public static bool MayDeferFor(ReaderRole role) =>
        s_current is { IsInUserCode: true, MayDefer: true } me
        && me.Role == role
        && ReaderRole.IsInUserCode(me.Token.Word)
        && role.Word == me.Token.Word;
}
