using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// The connection's view of one call; what a call does with its frames is the business of those who derive from it.
/// The On... members are called by whoever holds the reader role, one at a time and in the order of the frames; they
/// copy what they need, never wait, never run user code, and throw only what ends the connection.
/// </summary>
internal abstract class ConnectionCall
{
    private volatile bool _isDone;
    private volatile bool _isEndedByPeer;

    /// <summary>Which call it is on the wire; none before it was given an id.</summary>
    public CallId Id { get; set; }

    /// <summary>The sender's own notes.</summary>
    internal CallSendState Sending;

    /// <summary>The receiver's own: a head that comes in several records.</summary>
    internal HeadAssembly? PartialHead { get; set; }

    /// <summary>
    /// Whom to signal when the call is done, where a thread waits for it; set before the call is sent.
    /// </summary>
    public WakeLatch? Waiter { get; protected set; }

    /// <summary>True once nothing more can happen to the call on this side.</summary>
    public bool IsDone => _isDone;

    /// <summary>
    /// True once the peer's End of a call of this side was read. Nothing more of the call may be sent: its slot may be
    /// another call's by then, and the peer would take a late frame for a breach of the protocol.
    /// </summary>
    internal bool IsEndedByPeer => _isEndedByPeer;

    /// <summary>Noted by the receiver before it frees the slot.</summary>
    internal void NoteEndedByPeer() => _isEndedByPeer = true;

    /// <summary>The call begins. Only on the side that serves it.</summary>
    public virtual void OnStart(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags) =>
        throw NotExpected("start");

    /// <summary>The head of the call was larger than this side takes. The rest of it is dropped.</summary>
    public abstract void OnHeadTooLarge(FrameKind kind);

    /// <summary>Response metadata. Only on the side that started the call.</summary>
    public virtual void OnHeaders(ReadOnlySpan<byte> head) => throw NotExpected("response metadata");

    /// <summary>A message or its first part.</summary>
    public abstract void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags);

    /// <summary>The next part of a message.</summary>
    public abstract void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags);

    /// <summary>No more messages. Only on the side that serves the call.</summary>
    public virtual void OnHalfClose() => throw NotExpected("half-close");

    /// <summary>The call was given up by the side that started it. Only on the side that serves it.</summary>
    public virtual void OnCancel() => throw NotExpected("cancel");

    /// <summary>The last frame of the call. Only on the side that started it.</summary>
    public virtual void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags) =>
        throw NotExpected("end");

    /// <summary>
    /// The connection is gone. Called once, by the connection's reader thread, unless the call ended before.
    /// </summary>
    public abstract void OnConnectionClosed(CloseReason reason);

    /// <summary>Called under the sender's gate when the call's last frame goes into the ring.</summary>
    public virtual void OnEndWritten()
    {
    }

    protected void SetDone() => _isDone = true;

    private ProtocolException NotExpected(string what) =>
        new($"A {what} for call {Id} from the side that may not send it.");
}
