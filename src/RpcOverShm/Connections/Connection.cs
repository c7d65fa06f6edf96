using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <summary>
/// A link that multiplexes calls. It is open after the handshake and until either side closes the link. Then every
/// active call fails, <see cref="Closed"/> completes, and the memory is unmapped. Thread-safe.
/// </summary>
internal sealed class Connection : ICountedConnection
{
    private readonly PeerLink _link;
    private readonly FrameReceiver _receiver;
    private readonly ConnectionReader _reader;
    private readonly TaskCompletionSource _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Action<Connection>? _onGoAway;
    private long _changesAtLastCheck = -1;

    /// <summary>
    /// Takes over the link. <paramref name="accept"/> creates an incoming call; its argument is whether the call is
    /// one-way. Both <paramref name="accept"/> and <paramref name="bounds"/> are null if the peer may not start calls.
    /// The holder of the reader role runs <paramref name="onGoAway"/>, so that must not block.
    /// </summary>
    public Connection(
        PeerLink link,
        SchedulingMode mode,
        Func<bool, ConnectionCall>? accept,
        Action<Connection>? onGoAway,
        IncomingBounds? bounds = null)
    {
        _link = link;
        _onGoAway = onGoAway;
        bool hasCallers = !link.IsAcceptor || accept is null || link.PeerLimits.MaxCalls > 0;
        var role = new ReaderRole(isOfLoopOnly: !hasCallers);
        Sender = new FrameSender(link, role, bounds?.BufferBudget, chargesOwnCalls: accept is null || link.IsAcceptor);
        _receiver = new FrameReceiver(link, Sender, accept, OnGoAway, bounds);
        _reader = new ConnectionReader(link, role, _receiver, Sender, mode, OnClosed);
        Sender.RequestLoop = _reader.Request;
        AsTask = Task.FromResult<Connection?>(this);
    }

    /// <summary>This connection as a completed task, cached because many calls return it.</summary>
    public Task<Connection?> AsTask { get; }

    /// <summary>Sends the frames of the connection and of its calls.</summary>
    public FrameSender Sender { get; }

    public PeerIdentity Peer => _link.Identity;

    /// <summary>The loans of the connection; null if its sides have not agreed on them.</summary>
    public LinkLoans? Loans => _link.Loans;

    /// <summary>The topics that this server passes to the client; null if there are none.</summary>
    public PassedTopics? PassedTopics => _link.PassedTopics;

    /// <summary>The handles of the calls; null if the sides have not agreed on them.</summary>
    public LinkHandles? Handles => _link.Handles;

    public Guid Id => _link.ConnectionId;

    /// <summary>The limits that the peer announced; the handshake has validated them.</summary>
    public PeerLimits PeerLimits => _link.PeerLimits;

    public PeerLimits OwnLimits => _link.OwnLimits;

    /// <summary>Whether calls may start: the connection is open and the peer is neither leaving nor gone.</summary>
    public bool IsOpenForCalls => !_link.IsClosed && !_link.IsPeerLeaving && !_link.IsPeerGone;

    /// <summary>The number of outgoing two-way calls that the peer has not ended.</summary>
    public int OutgoingTwoWayCount => Sender.Outgoing.TwoWayCounter.Count;

    /// <summary>The number of outgoing one-way calls whose End frame was not received yet.</summary>
    public int OutgoingOneWayCount => Sender.Outgoing.OneWayCounter.Count;

    /// <summary>Whether the peer accepts calls. A server always does; a client does if it offers services.</summary>
    public bool IsPeerServing => PeerLimits.MaxCalls > 0;

    /// <summary>The number of incoming calls of both kinds that have not ended.</summary>
    public int IncomingCount => Sender.Incoming.ActiveCounter.Count;

    public bool IsAccepted => _link.IsAcceptor;

    public long UnreadBytes => _link.UnreadBytes;

    public long LentBytes => _link.Loans?.Lent.LentBytes ?? 0;

    /// <summary>The published bytes of the peer that this side has not released. Any thread may ask.</summary>
    public long UnreadIncomingBytes => _link.UnreadIncomingBytes;

    /// <summary>The number of system calls that woke the peer.</summary>
    public long WakeUps => _link.WakeUps;

    /// <summary>The reason for the close; null while the connection is open.</summary>
    public CloseReason? CloseReason => _link.CloseReason;

    /// <summary>Completes when the link is closed, the calls were notified and no thread uses the rings.</summary>
    public Task Closed => _closed.Task;

    /// <summary>The inline budget that the continuations of this connection's calls share.</summary>
    public InlineBudget InlineBudget { get; } = new();

    /// <summary>
    /// The number of times that the event loop was taken over from slow user code of this connection.
    /// </summary>
    public long TakeOvers => _reader.TakeOvers;

    /// <summary>The number of lost wake-ups: sleeps that timed out although there was data. Must be 0.</summary>
    public long LostWakeups => _link.LostWakeups;

    /// <summary>Adds the connection to an event loop and starts to monitor the peer.</summary>
    public void Start()
    {
        ProcessCounts.Add(this);
        _link.Start(_reader, OnLinkEvent);
        if (_reader.Loop is null)
        {
            _reader.EndWithoutLoop();
            return;
        }

        // StoreLoad: the source is added before the reader role is checked.
        Interlocked.MemoryBarrier();
        _reader.EnsureReader();
    }

    /// <summary>
    /// Starts a call without blocking. A blocking caller then calls <see cref="RunStartedCall"/>. If
    /// <paramref name="isDeferred"/> is true, the first frame may stay unpublished until <see cref="FlushDeferred"/>.
    /// </summary>
    public StartResult StartCall(
        ConnectionCall call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        bool isDeferred = false)
    {
        // StoreLoad: Sender.Start counts the call and executes a full fence; EnsureReader then checks the reader role.
        StartResult result = Sender.Start(call, flags, head, message, isDeferred);
        if (result == StartResult.Started && call.Latch is null && !isDeferred)
        {
            _reader.EnsureReader();
        }

        return result;
    }

    /// <summary>Publishes calls that were started with a deferred publish.</summary>
    public void FlushDeferred()
    {
        Sender.FlushDeferred();

        // StoreLoad: the calls are counted before the reader role is checked.
        Interlocked.MemoryBarrier();
        _reader.EnsureReader();
    }

    /// <summary>
    /// Runs a blocking call: starts it and returns when it is done. Returns at once if it was not started. The latch
    /// of the call must be that of this thread. <paramref name="largeMessage"/> is the message if it is too large
    /// for the first frame, otherwise null.
    /// </summary>
    public StartResult RunCall(
        ConnectionCall call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        PooledBufferWriter? largeMessage)
    {
        if (largeMessage is not null)
        {
            StartResult started = Sender.Start(call, flags, head, message);
            if (started == StartResult.Started)
            {
                RunStartedCall(call, largeMessage);
            }

            return started;
        }

        CallerLease lease = default;
        call.AcceptCallbacks();
        try
        {
            _reader.EnterCaller(ref lease);
            StartResult result = Sender.Start(call, flags, head, message);
            if (result == StartResult.Started)
            {
                _reader.WaitUntilDone(call, ref lease);
            }

            return result;
        }
        finally
        {
            _reader.LeaveCaller(ref lease);
            call.StopAcceptingCallbacks();
        }
    }

    /// <summary>
    /// Sends the rest of the message of a call from <see cref="StartCall"/>, and returns when the call is done. The
    /// call's latch must be that of this thread.
    /// </summary>
    public void RunStartedCall(ConnectionCall call, PooledBufferWriter rest)
    {
        CallerLease lease = default;
        call.AcceptCallbacks();
        try
        {
            // The request is sent before the caller may take the reader role: a caller that copies a large message
            // would not read.
            Sender.SendRequest(call, rest);
            _reader.EnterCaller(ref lease);
            _reader.WaitUntilDone(call, ref lease);
        }
        finally
        {
            _reader.LeaveCaller(ref lease);
            call.StopAcceptingCallbacks();
        }
    }

    /// <summary>
    /// Sends the first frame of a one-way call. On <see cref="StartResult.WindowFull"/> the call is queued behind the
    /// one-way calls that already wait; the caller tries again when
    /// <see cref="FrameSender.WhenCapacityMayBeFreeAsync"/> completes.
    /// </summary>
    public StartResult StartOneWay(
        ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> message)
    {
        _reader.DisarmForOneWayEnds();
        StartResult result = Sender.Start(call, flags, head, message);
        if (result == StartResult.WindowFull)
        {
            // The ring may contain End frames for which no thread was woken. They free capacity.
            _reader.ReadAvailable();
            result = Sender.Start(call, flags, head, message);
        }

        // StoreLoad: Sender.Start counts the call or queues it, and executes a full fence; EnsureReader then checks the
        // role.
        _reader.EnsureReader();
        return result;
    }

    /// <summary>Returns the capacity of a one-way call whose End was handled. Any thread may call this.</summary>
    /// <param name="call">The call.</param>
    /// <param name="isReader">
    /// Whether this thread holds the reader role. More End frames may then follow at once, so a waiting call is woken
    /// only when half of the window is free.
    /// </param>
    public void ReturnWindow(ConnectionCall call, bool isReader)
    {
        // StoreLoad: OneWayCalls.Return is a full fence after the capacity was freed; then this thread checks for a
        // waiting call.
        Sender.OneWayCalls.Return(call);
        if (Sender.OneWayCalls.HasWaiters)
        {
            Sender.WakeOneWay(onlyIfHalfFree: isReader);
        }
    }

    /// <summary>
    /// Returns the open outgoing call that an incoming call names as its parent, so that the incoming call is a
    /// callback. Returns null if there is none. Only the holder of the reader role calls this.
    /// </summary>
    public ConnectionCall? FindCallbackOrigin(ParentCall parent) =>
        parent.ConnectionId == Id
        && parent.Call.IsFromAcceptor == _link.IsAcceptor
        && Sender.Outgoing.TryFind(parent.Call) is { } origin
        && origin.Sending.Phase is not (CallSendPhase.New or CallSendPhase.Withdrawn)
            ? origin
            : null;

    /// <summary>
    /// Returns whether no call of either side is active and none has started or ended since the last call of this
    /// method; false on the first. One thread at a time calls it.
    /// </summary>
    public bool CheckQuiet()
    {
        // The changes are read before the counts: a call that starts and ends in between is found by the next check.
        OutgoingCalls outgoing = Sender.Outgoing;
        long changes = outgoing.TwoWayCounter.Changes + outgoing.OneWayCounter.Changes
            + Sender.Incoming.ActiveCounter.Changes;
        bool isQuiet = changes == _changesAtLastCheck && OutgoingTwoWayCount == 0 && OutgoingOneWayCount == 0
            && IncomingCount == 0 && !Sender.OneWayCalls.HasWaiters;
        _changesAtLastCheck = changes;
        return isQuiet;
    }

    /// <summary>Wakes callers that sleep on the ring: another thread has completed one of their calls.</summary>
    public void WakeSleepingReaders() => _link.RaiseLocalEvent();

    /// <summary>Completes when no outgoing call is live, or when the connection is closed.</summary>
    public Task WhenOutgoingCallsEndAsync() => Task.WhenAny(
        Task.WhenAll(
            Sender.Outgoing.TwoWayCounter.WhenEmptyAsync(), Sender.Outgoing.OneWayCounter.WhenEmptyAsync()),
        Closed);

    /// <summary>Completes when no incoming call is live, or when the connection is closed.</summary>
    public Task WhenIncomingCallsEndAsync() => Task.WhenAny(Sender.Incoming.ActiveCounter.WhenEmptyAsync(), Closed);

    /// <summary>Closes the connection. Live calls end with the reason.</summary>
    public void Close(CloseReason reason) => _link.Close(reason);

    private void OnGoAway()
    {
        // Only the first GoAway counts, so that a flood of them costs nothing.
        if (!_link.IsPeerLeaving)
        {
            // The owner leaves the connection before other threads see that it is not open for calls.
            _onGoAway?.Invoke(this);
            _link.IsPeerLeaving = true;
            Sender.WakeAllOneWay();
        }
    }

    // The link is closed or the peer is gone: every sleeping thread must check its state.
    private void OnLinkEvent()
    {
        _reader.Request();
        _reader.SleepingCallers.SignalAll();
    }

    private void OnClosed()
    {
        Exception? failure = null;
        try
        {
            // Closing the sender first makes the snapshots complete: no call can start afterwards.
            Sender.Close();
        }
        finally
        {
            try
            {
                failure = EndCalls(_link.CloseReason!);
            }
            finally
            {
                _receiver.Close();
                ProcessCounts.Remove(this);
                _closed.SetResult();
            }
        }

        if (failure is not null)
        {
            LogFailure(failure);
        }
    }

    // Returns the last exception of a call; null for none.
    private Exception? EndCalls(CloseReason reason)
    {
        Exception? failure = null;
        IEnumerable<ConnectionCall> calls = Sender.Outgoing.Snapshot().Concat(Sender.Incoming.Snapshot());
        foreach (ConnectionCall call in _receiver.EndingCall is { } ending ? calls.Append(ending) : calls)
        {
            try
            {
                try
                {
                    call.PartialHead?.Discard(); // The peer never sends the rest.
                    call.OnConnectionClosed(reason);
                }
                finally
                {
                    // After an exception, too: the code that is marked may be what ends the call for its user.
                    if (call.HasUnqueuedUserCode)
                    {
                        call.QueueUserCode();
                    }
                }
            }
            catch (Exception exception)
            {
                // Probably memory is short. The other calls must end all the same, before anything is logged.
                failure = exception;
            }
        }

        return failure;
    }

    private void LogFailure(Exception failure) => DeferredLog.Write(
        _link.Logger, log => ShmLog.ConnectionFailed(log, Id, Peer.ToString(), failure.Message, failure));
}
