using System.Diagnostics;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// The connection's view of one call; derived classes handle the contents of its frames. The holder of the reader role
/// calls the On... members, one at a time and in frame order. They copy the bytes they need, never wait, run no user
/// code, and throw only to end the connection. They mark pending user code on the call; the reading thread runs it
/// inline or queues it after the record was released.
/// </summary>
internal abstract class ConnectionCall : IThreadPoolWorkItem
{
    // A flag beside those of the pending user code: a thread pool item that will run the code is queued.
    private const int Queued = 1 << 30;

    private volatile bool _isDone;
    private volatile bool _isEndedByPeer;
    private volatile bool _isAwaited; // a thread blocks for the call and runs its callbacks
    private int _work;
    private uint _id;           // a call is small: simple fields share their 8 bytes
    private ushort _messagesDue;
    private OutboundFrame? _written; // a finished frame whose waiter is woken as pending user code

    /// <summary>The id on the wire; <see cref="CallId.None"/> until one is assigned.</summary>
    public CallId Id
    {
        get => new(_id);
        set => _id = value.Value;
    }

    /// <summary>State of the sender, guarded by its gate.</summary>
    internal CallSendState Sending;

    /// <summary>State of the receiver: a head that arrives in several records, or null.</summary>
    internal HeadAssembly? PartialHead { get; set; }

    /// <summary>
    /// The latch of the blocking caller, signalled when the call is done; null if no thread blocks. Set before the call
    /// is sent.
    /// </summary>
    public AutoResetLatch? Waiter { get; protected set; }

    /// <summary>
    /// Whether this side has sent its last frame of the call. True for a call whose first frame carried the whole
    /// request, and for a one-way call after its last frame. Written under the gate, before the frame is visible.
    /// </summary>
    public bool IsAllSent { get; set; }

    /// <summary>
    /// Whether the starter waits for nothing but that the request is sent. The call is answered by an End alone.
    /// </summary>
    public bool IsOneWay { get; init; }

    /// <summary>
    /// Handles that an outgoing one-way call, which had to wait for space, is in the ring. Runs under the sender's
    /// gate, so it neither waits nor runs user code.
    /// </summary>
    public virtual void OnSentLater() => throw new UnreachableException();

    /// <summary>Sets whether the last frame of an incoming one-way call was received.</summary>
    public virtual void SetRequestComplete(bool isComplete)
    {
    }

    /// <summary>The time left until the deadline, zero or less once it has passed; null without a deadline.</summary>
    public virtual TimeSpan? Remaining => null;

    /// <summary>Ends the call because its deadline has passed. The thread of a blocking call does so itself.</summary>
    public virtual void OnDeadline()
    {
    }

    /// <summary>Whether the user of an outgoing call has cancelled it, or its deadline has passed.</summary>
    public virtual bool IsGivenUp => false;

    /// <summary>Whether nothing more can happen to the call on this side.</summary>
    public bool IsDone => _isDone;

    /// <summary>
    /// Whether the thread that blocks for the call has something to do: the call is done, or a callback is due.
    /// </summary>
    public bool IsDue => _isDone || Waiter!.HasWork;

    /// <summary>
    /// Whether the peer has made a callback for this outgoing call. Such a call is not reused: the callback keeps it.
    /// Written by the holder of the reader role, before the call is done.
    /// </summary>
    public bool IsCalledBack { get; set; }

    /// <summary>The number of calls in front of this one in its chain of calls and callbacks.</summary>
    public virtual int Depth => 0;

    /// <summary>The name under which the calls of its method know an incoming call; null for an outgoing one.</summary>
    public virtual ParentCall? Reference => null;

    /// <summary>Whether a thread that blocks for another call runs this call's user code.</summary>
    public virtual bool RunsOnBlockedThread => false;

    /// <summary>
    /// Whether the End of an outgoing call was received. Nothing more of the call may be sent: another call may have
    /// its slot already, and the peer would treat a late frame as a protocol violation.
    /// </summary>
    internal bool IsEndedByPeer => _isEndedByPeer;

    /// <summary>Records the peer's End. The receiver calls this before it frees the slot.</summary>
    internal void MarkEndedByPeer() => _isEndedByPeer = true;

    /// <summary>
    /// Messages received since user code last ran inline, at most 65,535. Accessed by the holder of the reader role.
    /// </summary>
    public int MessagesDue
    {
        get => _messagesDue;
        set => _messagesDue = (ushort)Math.Min(value, ushort.MaxValue);
    }

    /// <summary>
    /// Counts a received message for the next inline run. If user code is queued to the thread pool, the message goes
    /// with it and the count is reset.
    /// </summary>
    public void CountMessage() => MessagesDue = Volatile.Read(ref _work) < Queued ? MessagesDue + 1 : 0;

    /// <summary>Whether user code is pending without a queued pool item, which would run it too.</summary>
    public bool HasUserCode => Volatile.Read(ref _work) is not 0 and < Queued;

    /// <summary>Whether waking a user's stream reader is the only pending user code.</summary>
    public bool HasOnlyReaderToWake => Volatile.Read(ref _work) == (int)PendingUserCode.WakeReader;

    /// <summary>The budget that decides whether the call's user code runs inline.</summary>
    public abstract InlineBudget Budget { get; }

    /// <summary>Runs the pending user code, unless another thread has taken it. The caller holds no lock.</summary>
    public void RunUserCode()
    {
        var work = (PendingUserCode)(Interlocked.Exchange(ref _work, 0) & ~Queued);
        if ((work & PendingUserCode.WakeWriter) != 0)
        {
            // The writer's continuation may wait for the other user code, so that code goes to the thread pool.
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
    /// Marks the waiter of a finished frame as pending user code. The holder of the reader role runs it afterwards if
    /// <see cref="SendFlags.WithReader"/> is set; else the thread that wrote queues it, once it has left the gate.
    /// </summary>
    public void OnWritten(OutboundFrame frame)
    {
        if (Interlocked.Exchange(ref _written, frame) is { } last)
        {
            PoolWork.Queue(last, preferLocal: true);
        }

        AddUserCode(PendingUserCode.WakeWriter);
    }

    void IThreadPoolWorkItem.Execute() => RunUserCode();

    /// <summary>
    /// Queues the pending user code to the thread pool. Does nothing if it is queued already: records can arrive faster
    /// than a pool thread starts.
    /// </summary>
    public void QueueUserCode()
    {
        if (Interlocked.Or(ref _work, Queued) < Queued && !TryHandOver())
        {
            PoolWork.Queue(this);
        }
    }

    /// <summary>
    /// Has the thread that blocks for this call run the user code of a callback. Returns false if it does not wait, or
    /// runs too many callbacks inside of each other.
    /// </summary>
    public bool TryRunHere(ConnectionCall callback)
    {
        if (HasNoThread || !Waiter!.Queue.TryAdd(this, callback))
        {
            return false;
        }

        // StoreLoad: the callback is in the queue before this thread checks the end of the call. The blocked thread
        // sees the end and then empties the queue.
        Interlocked.MemoryBarrier();
        if (HasNoThread && Waiter.Queue.TryTakeBack(this, callback))
        {
            return false;
        }

        Waiter.Wake();
        return true;
    }

    /// <summary>
    /// Has the thread that blocks for this call run callbacks. That thread calls it before the request is sent: the
    /// first callback may come before the thread waits.
    /// </summary>
    public void EnterCallbacks() => _isAwaited = true;

    /// <summary>Moves the callbacks of this call to the thread pool: its thread waits for it no longer.</summary>
    public void LeaveCallbacks()
    {
        if (!IsDone)
        {
            // The call was not sent, or the thread was interrupted.
            _isAwaited = false;
        }

        // The peer makes no callback after its End, so a call without one before pays no fence.
        if (IsCalledBack || !IsEndedByPeer)
        {
            Interlocked.MemoryBarrier(); // StoreLoad: the end of the wait is stored before the queue is read.
            Waiter!.LeaveWork(this);
        }
    }

    /// <summary>
    /// Ends the call at its deadline although its thread runs callbacks, which may take longer. Called by that thread.
    /// </summary>
    public virtual void WatchDeadline()
    {
    }

    /// <summary>Marks user code as pending. The holder of the reader role checks for it afterwards.</summary>
    public void AddUserCode(PendingUserCode work) => Interlocked.Or(ref _work, (int)work);

    /// <summary>Marks user code as pending and queues it: no reading thread checks for it afterwards.</summary>
    public void QueueUserCode(PendingUserCode work)
    {
        AddUserCode(work);
        QueueUserCode();
    }

    /// <summary>Gives the peer credit for messages that were read.</summary>
    public abstract void GrantCredit(uint bytes);

    /// <summary>Handles the start of an incoming call.</summary>
    public virtual void OnStart(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags) =>
        throw NotExpected("start");

    /// <summary>Handles a head that exceeds this side's limit. The receiver drops the rest of the head.</summary>
    public abstract void OnHeadTooLarge(FrameKind kind);

    /// <summary>
    /// Ends an incoming call whose head did not come whole in time. The only On... member that the watchdog calls.
    /// </summary>
    public virtual void OnHeadLate(TimeSpan limit) => throw new UnreachableException();

    /// <summary>Ends a call for whose head there is no more memory. The head was dropped.</summary>
    public abstract void OnHeadNotKept(BufferBudget full);

    /// <summary>
    /// Handles the end of an outgoing call whose head was dropped: <paramref name="full"/> had no room, or it is null,
    /// and the call had ended on this side.
    /// </summary>
    public virtual void OnEndDropped(BufferBudget? full) => throw new UnreachableException();

    /// <summary>Handles the response metadata of an outgoing call.</summary>
    public virtual void OnHeaders(ReadOnlySpan<byte> head) => throw NotExpected("response metadata");

    /// <summary>Handles a message or its first part.</summary>
    public abstract void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags);

    /// <summary>Handles the next part of a message.</summary>
    public abstract void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags);

    /// <summary>Handles the half-close of an incoming call: no more messages follow.</summary>
    public virtual void OnHalfClose() => throw NotExpected("half-close");

    /// <summary>Handles the peer's cancel of an incoming call.</summary>
    public virtual void OnCancel() => throw NotExpected("cancel");

    /// <summary>Handles the last frame of an outgoing call.</summary>
    public virtual void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags) =>
        throw NotExpected("end");

    /// <summary>Handles the connection's close. Called once, unless the call has ended.</summary>
    public abstract void OnConnectionClosed(CloseReason reason);

    /// <summary>Runs the given user code.</summary>
    protected abstract void Execute(PendingUserCode work);

    /// <summary>Hands the pending user code to a blocked thread. Returns false if it goes to the thread pool.</summary>
    protected virtual bool TryHandOver() => false;

    protected void SetDone() => _isDone = true;

    /// <summary>Resets a call that has ended on both sides, with no frames or user code pending.</summary>
    protected void ResetForReuse()
    {
        _work = 0;
        _written = null;
        ResetForRetry();
    }

    /// <summary>
    /// Resets the call to its unsent state. The peer has ended it and none of its frames is queued. Pending user code
    /// stays: it may report that the user has ended the call meanwhile.
    /// </summary>
    protected void ResetForRetry()
    {
        _isDone = false;
        _isEndedByPeer = false;
        _isAwaited = false;
        IsAllSent = false;
        MessagesDue = 0;
        Id = CallId.None;
        PartialHead = null;
        Sending = default;
    }

    private bool HasNoThread => IsDone || !_isAwaited;

    private ProtocolException NotExpected(string what) =>
        new($"A {what} for call {Id} from the side that may not send it.");
}

/// <summary>User code of a call that is ready to run; several kinds can be pending at once.</summary>
[Flags]
internal enum PendingUserCode
{
    None = 0,

    /// <summary>Start the method of an incoming call.</summary>
    Start = 1,

    /// <summary>Complete the tasks that users await: a response or a failure.</summary>
    Complete = 2,

    /// <summary>Wake a stream reader that waits for a message or for the end of messages.</summary>
    WakeReader = 4,

    /// <summary>Wake a writer that waits until its message was sent.</summary>
    WakeWriter = 8,
}
