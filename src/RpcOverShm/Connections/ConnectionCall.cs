using System.Diagnostics;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// The connection's view of one call; derived classes handle the contents of its frames. The holder of the reader role
/// calls the members that handle frames (<see cref="OnStart"/> to <see cref="OnEnd"/>), one at a time and in frame
/// order. These members copy the bytes that they need. They never wait and run no user code. An exception from them
/// closes the connection. They mark pending user code on the call; the reading thread runs it inline or queues it after
/// the record was released.
/// </summary>
internal abstract partial class ConnectionCall : IThreadPoolWorkItem
{
    // A flag beside those of the pending user code: a thread pool item that will run the code is queued.
    private const int Queued = 1 << 30;

    private volatile bool _isWaitOver;
    private volatile bool _isEndedByPeer;
    private volatile bool _isAwaited; // a thread blocks for the call and runs its callbacks
    private int _pendingUserCode;
    private uint _id;
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
    /// The latch of the blocking caller, signalled when its wait is over; null if no thread blocks. Set before the call
    /// is sent.
    /// </summary>
    public AutoResetLatch? Latch { get; protected set; }

    /// <summary>
    /// True only if the last frame of the request is in the ring, or was read from it: nothing of it is queued. Set
    /// for an outgoing call whose first frame carried the whole request, and for a one-way call after its last frame.
    /// Not known, so false, for a two-way outgoing call whose request was queued or went in several frames. An outgoing
    /// call sets it under the gate, before the frame is visible; the holder of the reader role sets it for an incoming
    /// one.
    /// </summary>
    public bool IsRequestKnownComplete { get; set; }

    /// <summary>
    /// The bytes that the call keeps in the table until its End frame is sent. They are charged with a queued End.
    /// </summary>
    public virtual long BytesKeptUntilEnd => 0;

    /// <summary>
    /// Whether the call is one-way: it completes for its user when the request is sent. The response is an End frame
    /// without a message.
    /// </summary>
    public bool IsOneWay { get; init; }

    /// <summary>
    /// Completes an outgoing one-way call whose last frame had to wait for space and is now in the ring. Runs under the
    /// gate of the sender, so it neither waits nor runs user code.
    /// </summary>
    public virtual void OnOneWaySent() =>
        throw new UnreachableException("Only an outgoing one-way call is sent later.");

    /// <summary>The time left until the deadline, zero or less once it has passed; null without a deadline.</summary>
    public virtual TimeSpan? Remaining => null;

    /// <summary>Ends the call because its deadline has passed. The thread of a blocking call does so itself.</summary>
    public virtual void OnDeadline()
    {
    }

    /// <summary>
    /// Ends an incoming call whose head did not arrive completely within the limit. The watchdog calls this, while the
    /// holder of the reader role may handle frames.
    /// </summary>
    public virtual void OnHeadTimedOut(TimeSpan limit) =>
        throw new UnreachableException("Only the head of a request has a time limit.");

    /// <summary>Whether the user of an outgoing call has cancelled it, or its deadline has passed.</summary>
    public virtual bool IsGivenUp => false;

    /// <summary>
    /// Whether the thread that blocks for the call need not wait any longer. Never true of a call for which no thread
    /// blocks.
    /// </summary>
    public bool IsWaitOver => _isWaitOver;

    /// <summary>
    /// Whether the thread that blocks for the call has something to do: its wait is over, or a callback is due.
    /// </summary>
    public bool HasWorkForThread => _isWaitOver || Latch!.HasWork;

    /// <summary>
    /// Whether the peer has made a callback for this outgoing call. The call object is then not reused, because the
    /// callback refers to it. Written by the holder of the reader role, before the wait is over.
    /// </summary>
    public bool HasCallback { get; set; }

    /// <summary>The number of calls in front of this one in its chain of calls and callbacks.</summary>
    public virtual int Depth => 0;

    /// <summary>
    /// The reference that calls of this call's method carry to their parent; null for an outgoing call.
    /// </summary>
    public virtual ParentCall? AsParent => null;

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
    /// Counts a received message for the next inline run. Resets the count if user code is queued to the thread pool:
    /// that code then handles the message.
    /// </summary>
    public void CountMessage() => MessagesDue = Volatile.Read(ref _pendingUserCode) < Queued ? MessagesDue + 1 : 0;

    /// <summary>Whether user code is pending and no pool item is queued that will run it.</summary>
    public bool HasUnqueuedUserCode => Volatile.Read(ref _pendingUserCode) is not 0 and < Queued;

    /// <summary>Whether waking a user's stream reader is the only pending user code.</summary>
    public bool HasOnlyReaderToWake => Volatile.Read(ref _pendingUserCode) == (int)PendingUserCode.WakeReader;

    /// <summary>The budget that decides whether the call's user code runs inline.</summary>
    public abstract InlineBudget InlineBudget { get; }

    /// <summary>Runs the pending user code, unless another thread has taken it. The caller holds no lock.</summary>
    public void RunUserCode()
    {
        var userCode = (PendingUserCode)(Interlocked.Exchange(ref _pendingUserCode, 0) & ~Queued);
        if ((userCode & PendingUserCode.WakeWriter) != 0)
        {
            // The writer's continuation may wait for the other user code, so that code goes to the thread pool.
            userCode &= ~PendingUserCode.WakeWriter;
            if (userCode != PendingUserCode.None)
            {
                QueueUserCode(userCode);
            }

            Interlocked.Exchange(ref _written, null)?.WakeWaiter();
        }
        else if (userCode != PendingUserCode.None)
        {
            Execute(userCode);
        }
    }

    /// <summary>
    /// Marks the waiter of a finished frame as pending user code. The holder of the reader role runs it afterwards if
    /// <see cref="SendStateFlags.ReaderSends"/> is set; else the thread that wrote queues it, after it has left the
    /// gate.
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
        if (Interlocked.Or(ref _pendingUserCode, Queued) < Queued && !TryRunOnBlockedThread())
        {
            try
            {
                PoolWork.Queue(this);
            }
            catch
            {
                Interlocked.And(ref _pendingUserCode, ~Queued); // It is pending still, and may be queued again.
                throw;
            }
        }
    }

    /// <summary>
    /// Makes the thread that blocks for this call run the user code of a callback. Returns false if no thread blocks
    /// for the call, or if that thread runs too many nested callbacks.
    /// </summary>
    public bool TryRunOnBlockedThread(ConnectionCall callback)
    {
        if (HasNoWaitingThread || !Latch!.Queue.TryAdd(this, callback))
        {
            return false;
        }

        // StoreLoad: the callback is in the queue before this thread checks the end of the call. The blocked thread
        // sees the end and then empties the queue.
        Interlocked.MemoryBarrier();
        if (HasNoWaitingThread && Latch.Queue.TryTakeBack(this, callback))
        {
            return false;
        }

        Latch.Wake();
        return true;
    }

    /// <summary>
    /// Lets callbacks run on the thread that blocks for this call. That thread calls this method before it sends the
    /// end of the request: no method that makes callbacks runs earlier, and the first callback may arrive before the
    /// thread waits.
    /// </summary>
    public void AcceptCallbacks() => _isAwaited = true;

    /// <summary>
    /// Moves the callbacks of this call to the thread pool, because no thread blocks for the call any longer.
    /// </summary>
    public void StopAcceptingCallbacks()
    {
        if (!IsWaitOver)
        {
            // The call was not sent, or the thread was interrupted.
            _isAwaited = false;
        }

        // The peer makes no callback after its End frame, so a call that had no callback needs no fence.
        if (HasCallback || !IsEndedByPeer)
        {
            Interlocked.MemoryBarrier(); // StoreLoad: the end of the wait is stored before the queue is read.
            Latch!.LeaveWork(this);
        }
    }

    /// <summary>
    /// Starts a timer for the deadline: the blocked thread is about to run a callback and may be late. Called by that
    /// thread.
    /// </summary>
    public virtual void StartDeadlineTimer()
    {
    }

    /// <summary>Marks user code as pending. The holder of the reader role checks for it afterwards.</summary>
    public void AddUserCode(PendingUserCode userCode) => Interlocked.Or(ref _pendingUserCode, (int)userCode);

    /// <summary>Marks user code as pending and queues it: no reading thread checks for it afterwards.</summary>
    public void QueueUserCode(PendingUserCode userCode)
    {
        AddUserCode(userCode);
        QueueUserCode();
    }

    /// <summary>Gives the peer credit for messages that were read.</summary>
    public abstract void GrantCredit(uint bytes);

    /// <summary>Handles the start of an incoming call.</summary>
    public virtual void OnStart(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags) =>
        throw NotExpected("a start");

    /// <summary>Handles a head that exceeds this side's limit. The receiver drops the rest of the head.</summary>
    public abstract void OnHeadTooLarge(FrameKind kind);

    /// <summary>Handles a head that would exceed the budget. The receiver has dropped it.</summary>
    public abstract void OnHeadOverBudget(BufferBudget full);

    /// <summary>
    /// Handles the end of an outgoing call whose head was dropped: it would have exceeded <paramref name="full"/>, or
    /// that is null, and the call had ended on this side.
    /// </summary>
    public virtual void OnEndDropped(BufferBudget? full) => throw new UnreachableException();

    /// <summary>Handles the response metadata of an outgoing call.</summary>
    public virtual void OnHeaders(ReadOnlySpan<byte> head) => throw NotExpected("response metadata");

    /// <summary>Handles a message or its first part.</summary>
    public abstract void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags);

    /// <summary>
    /// Handles a whole message that lies in memory of the peer, and takes it over, also when it throws.
    /// </summary>
    /// <param name="message">The message.</param>
    /// <param name="recordBytes">The payload of its record, which costs credit.</param>
    /// <param name="flags">The flags of its frame.</param>
    public abstract void OnLoanedMessage(ReceivedMessage message, int recordBytes, FrameFlags flags);

    /// <summary>Handles the next part of a message.</summary>
    public abstract void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags);

    /// <summary>
    /// Handles a set of handles of the peer, which the call then has; null if this side has closed them before.
    /// </summary>
    public abstract void OnHandles(HandleSet? set);

    /// <summary>Handles the half-close of an incoming call: no more messages follow.</summary>
    public virtual void OnHalfClose() => throw NotExpected("a half-close");

    /// <summary>Handles the peer's cancel of an incoming call.</summary>
    public virtual void OnCancel() => throw NotExpected("a cancel");

    /// <summary>Handles the last frame of an outgoing call.</summary>
    public virtual void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags) =>
        throw NotExpected("an end");

    /// <summary>
    /// Handles the connection's close. Called once for each call in a table, and for one whose End threw when it was
    /// handled (<see cref="FrameReceiver.EndingCall"/>).
    /// </summary>
    public abstract void OnConnectionClosed(CloseReason reason);

    /// <summary>Runs the given user code.</summary>
    protected abstract void Execute(PendingUserCode userCode);

    /// <summary>Hands the pending user code to a blocked thread. Returns false if it goes to the thread pool.</summary>
    protected virtual bool TryRunOnBlockedThread() => false;

    protected void EndWait() => _isWaitOver = true;

    /// <summary>Resets a call that has ended on both sides, with no frames or user code pending.</summary>
    protected void ResetForReuse()
    {
        _pendingUserCode = 0;
        _written = null;
        ResetForRetry();
    }

    /// <summary>
    /// Resets the call to its unsent state. The peer has ended it and none of its frames is queued. Pending user code
    /// stays: it may report that the user has ended the call meanwhile.
    /// </summary>
    protected void ResetForRetry()
    {
        _isWaitOver = false;
        _isEndedByPeer = false;
        _isAwaited = false;
        IsRequestKnownComplete = false;
        MessagesDue = 0;
        Id = CallId.None;
        PartialHead = null;
        Sending = default;
    }

    private bool HasNoWaitingThread => IsWaitOver || !_isAwaited;

    private ProtocolException NotExpected(string what) =>
        new($"The peer sent {what} for call {Id}, which only this side may send.");
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
