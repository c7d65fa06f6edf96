using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Sending;

/// <summary>
/// The connection's view of one call; what a call does with its frames is the business of those who derive from it.
/// The On... members are called by whoever holds the reader role, one at a time and in the order of the frames; they
/// copy what they need, never wait, run no user code but marshallers that parse in place, and throw only what ends the
/// connection. User code that becomes due is noted as work; whoever reads runs it inline or queues it, after the record
/// was given back.
/// </summary>
internal abstract class ConnectionCall : IThreadPoolWorkItem
{
    // In the same word as the work that is due: it is on its way to a thread of the pool.
    private const int Queued = 1 << 30;

    private volatile bool _isDone;
    private volatile bool _isEndedByPeer;
    private int _work;
    private OutboundFrame? _written; // somebody waits for it, and is to be told as work of the call

    /// <summary>Which call it is on the wire; none before it was given an id.</summary>
    public CallId Id { get; set; }

    /// <summary>The sender's own notes.</summary>
    internal CallSendState Sending;

    /// <summary>The receiver's own: a head that comes in several records.</summary>
    internal HeadAssembly? PartialHead { get; set; }

    /// <summary>
    /// Whom to signal when the call is done, where a thread waits for it; set before the call is sent.
    /// </summary>
    public AutoResetLatch? Waiter { get; protected set; }

    /// <summary>
    /// True when all that this side sends went into the ring with the first frame: nothing waits, and nothing will.
    /// Written under the sender's gate, before the frame is visible.
    /// </summary>
    public bool IsAllSent { get; set; }

    /// <summary>True once nothing more can happen to the call on this side.</summary>
    public bool IsDone => _isDone;

    /// <summary>
    /// True once the peer's End of a call of this side was read. Nothing more of the call may be sent: its slot may be
    /// another call's by then, and the peer would take a late frame for a breach of the protocol.
    /// </summary>
    internal bool IsEndedByPeer => _isEndedByPeer;

    /// <summary>Noted by the receiver before it frees the slot.</summary>
    internal void MarkEndedByPeer() => _isEndedByPeer = true;

    /// <summary>
    /// Messages that came since user code last ran inline: what a run of it may be for. By the holder of the reader
    /// role.
    /// </summary>
    public int MessagesDue { get; set; }

    /// <summary>A message came. What goes with work that is on its way to the pool is due to no inline run.</summary>
    public void CountMessage() => MessagesDue = Volatile.Read(ref _work) < Queued ? MessagesDue + 1 : 0;

    /// <summary>
    /// True when user code is due that is not on its way to the thread pool: what is added to that goes with it.
    /// </summary>
    public bool HasUserCode => Volatile.Read(ref _work) is not 0 and < Queued;

    /// <summary>True when all that is due is to tell the reader of a stream that something came.</summary>
    public bool HasOnlyReaderToWake => Volatile.Read(ref _work) == (int)PendingUserCode.WakeReader;

    /// <summary>Whether work of this kind runs inline.</summary>
    public abstract InlineBudget Budget { get; }

    /// <summary>Runs the work that is due, if nobody else has taken it. Not under any lock.</summary>
    public void RunUserCode()
    {
        var work = (PendingUserCode)(Interlocked.Exchange(ref _work, 0) & ~Queued);
        if ((work & PendingUserCode.WakeWriter) != 0)
        {
            // The writer's code may wait for what else is due: that must not wait for it.
            work &= ~PendingUserCode.WakeWriter;
            if (work != PendingUserCode.None)
            {
                QueueUserCode(work);
            }

            Interlocked.Exchange(ref _written, null)?.WakeWaiter();
        }
        else if (work != PendingUserCode.None)
        {
            Execute(work);
        }
    }

    /// <summary>
    /// A frame was sent that somebody waits for, while the holder of the reader role was at this call: it looks for the
    /// call's work afterwards.
    /// </summary>
    public void OnWritten(OutboundFrame frame)
    {
        if (Interlocked.Exchange(ref _written, frame) is { } last)
        {
            ThreadPool.UnsafeQueueUserWorkItem(last, preferLocal: true);
        }

        AddUserCode(PendingUserCode.WakeWriter);
    }

    void IThreadPoolWorkItem.Execute() => RunUserCode();

    /// <summary>
    /// Has the work that is due run on the thread pool. Once, however often this is called before it runs: records come
    /// faster than a thread of the pool does.
    /// </summary>
    public void QueueUserCode()
    {
        if (Interlocked.Or(ref _work, Queued) < Queued)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Notes work for the thread that holds the reader role, which looks for it after this.</summary>
    public void AddUserCode(PendingUserCode work) => Interlocked.Or(ref _work, (int)work);

    /// <summary>Has work run on the thread pool. For threads that do not hold the reader role.</summary>
    public void QueueUserCode(PendingUserCode work)
    {
        AddUserCode(work);
        QueueUserCode();
    }

    /// <summary>Gives the peer credit for messages that were read.</summary>
    public abstract void GrantCredit(uint bytes);

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

    /// <summary>Runs what is due. User code runs in here.</summary>
    protected abstract void Execute(PendingUserCode work);

    protected void SetDone() => _isDone = true;

    /// <summary>Makes the call as new. It has ended on both sides, and nothing of it waits to be sent or run.</summary>
    protected void ResetForReuse()
    {
        _work = 0;
        _written = null;
        ResetForRetry();
    }

    /// <summary>
    /// Makes the call as one that was not sent. The peer has ended it and nothing of it waits to be sent; that its user
    /// has ended it meanwhile may be about to be told.
    /// </summary>
    protected void ResetForRetry()
    {
        _isDone = false;
        _isEndedByPeer = false;
        IsAllSent = false;
        MessagesDue = 0;
        Id = CallId.None;
        PartialHead = null;
        Sending = default;
    }

    private ProtocolException NotExpected(string what) =>
        new($"A {what} for call {Id} from the side that may not send it.");
}

/// <summary>User code that a call has for somebody to run; several kinds may be due at a time.</summary>
[Flags]
internal enum PendingUserCode
{
    None = 0,

    /// <summary>Run the served method.</summary>
    Start = 1,

    /// <summary>Complete what users await: a response, a failure.</summary>
    Complete = 2,

    /// <summary>A message or the end of messages came for a reader that waits.</summary>
    WakeReader = 4,

    /// <summary>A message went out that somebody waits for.</summary>
    WakeWriter = 8,
}
