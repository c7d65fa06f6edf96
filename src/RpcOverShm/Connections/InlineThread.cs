using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// What a thread that may run user code inline knows of itself: one for each standby and spare. Its own thread writes
/// it; nobody else looks.
/// </summary>
internal sealed class InlineThread(ReaderDesk desk)
{
    [ThreadStatic]
    private static InlineThread? s_current;

    /// <summary>The inline thread that is running this, or null on any other thread.</summary>
    public static InlineThread? Current
    {
        get => s_current;
        set => s_current = value;
    }

    public ReaderDesk Desk => desk;

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
    public static bool IsHolderInUserCode(PeerLink link) =>
        s_current is { IsInUserCode: true } me
        && me.Desk.Link == link
        && ReaderRole.IsInUserCode(me.Token.Word)
        && me.Desk.Role.Word == me.Token.Word;
}
