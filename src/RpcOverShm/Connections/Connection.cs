using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// Many calls over one link. Made open from a finished handshake; ends when the link is closed, by whichever side: then
/// every call that lives hears of it, the memory is freed, and <see cref="Closed"/> completes. Any thread may use it.
/// </summary>
internal sealed class Connection
{
    private readonly PeerLink _link;
    private readonly FrameSender _sender;
    private readonly FrameReceiver _receiver;
    private readonly ReaderCoordinator _coordinator;
    private readonly CallerReader _callers;
    private readonly StandbyReader _standby;
    private readonly TaskCompletionSource _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Action<Connection>? _onGoAway;

    /// <param name="link">The link; owned from here on.</param>
    /// <param name="mode">Where user code runs that frames make due.</param>
    /// <param name="accept">Makes the object of a call that the peer starts; null where it may start none.</param>
    /// <param name="onGoAway">
    /// Runs when the peer takes no new calls; by the holder of the reader role, so it waits for nothing.
    /// </param>
    public Connection(
        PeerLink link, SchedulingMode mode, Func<Connection, ConnectionCall>? accept, Action<Connection>? onGoAway)
    {
        _link = link;
        _onGoAway = onGoAway;
        var role = new ReaderRole();
        _sender = new FrameSender(link, role);
        Func<ConnectionCall>? acceptHere = accept is null ? null : () => accept(this);
        _receiver = new FrameReceiver(link, _sender, acceptHere, OnGoAway);
        _coordinator = new ReaderCoordinator(link, role, _receiver, _sender, mode);
        _callers = new CallerReader(_coordinator);
        _standby = new StandbyReader(_coordinator, OnClosed);
        AsResult = Task.FromResult<Connection?>(this);
    }

    /// <summary>
    /// False while this thread parses a message in place: it keeps a reader role, and may not block for a call.
    /// </summary>
    public static bool MayBlockHere => !RecordMemory.IsShownToThisThread;

    /// <summary>This connection as a completed task: made once, for the many calls that give it away.</summary>
    public Task<Connection?> AsResult { get; }

    public PeerIdentity Peer => _link.Identity;

    public Guid Id => _link.ConnectionId;

    /// <summary>What the peer takes; checked when it arrived.</summary>
    public PeerLimits PeerLimits => _link.PeerLimits;

    public PeerLimits OwnLimits => _link.OwnLimits;

    /// <summary>The most bytes of head and message that the first or last frame of a call carries together.</summary>
    public int InlineBytes => _sender.InlineBytes;

    /// <summary>
    /// Completes when the connection is closed, its calls have heard of it and its threads have left the rings.
    /// </summary>
    public Task Closed => _closed.Task;

    /// <summary>Null while the connection is open.</summary>
    public CloseReason? CloseReason => _link.CloseReason;

    /// <summary>
    /// True while calls may be started: the connection is open and neither side has said that it is leaving.
    /// </summary>
    public bool IsOpenForCalls => !_link.IsClosed && !_link.IsPeerLeaving && !_link.IsPeerGone;

    /// <summary>Calls that this side has started and the peer has not ended.</summary>
    public int OutgoingCount => _sender.Outgoing.Living.Count;

    /// <summary>Calls of the peer that have not ended.</summary>
    public int IncomingCount => _sender.Incoming.Living.Count;

    /// <summary>Completes when no call of this side lives, or the connection is closed.</summary>
    public Task WhenOutgoingCallsEndAsync() => Task.WhenAny(_sender.Outgoing.Living.WhenEmptyAsync(), Closed);

    /// <summary>Completes when no call of the peer lives, or the connection is closed.</summary>
    public Task WhenIncomingCallsEndAsync() => Task.WhenAny(_sender.Incoming.Living.WhenEmptyAsync(), Closed);

    /// <summary>The calls of the peer that have not ended.</summary>
    public ConnectionCall[] IncomingSnapshot() => _sender.Incoming.Snapshot();

    /// <summary>How often user code kept the reader role so long that it was taken away.</summary>
    public long TakeOvers => _coordinator.TakeOvers;

    /// <summary>Of the continuations of this connection's calls.</summary>
    public InlineBudget Budget { get; } = new();

    /// <summary>How often a time-out, and not a ring, found data. Anything but 0 is a lost wake-up.</summary>
    public long LostWakeups => _link.LostWakeups;

    /// <summary>True while the reader sleeps for longer than it may while calls live.</summary>
    public bool IsSilent => _coordinator.IsSilent;

    /// <summary>Starts the reader and the watch over the peer.</summary>
    public void Start()
    {
        _link.Start(OnLinkEvent);
        _standby.Start();
    }

    /// <summary>Starts a call whose caller does not block, or not yet: see <see cref="FinishCall"/>.</summary>
    /// <param name="call">The call.</param>
    /// <param name="flags">The flags of its first frame.</param>
    /// <param name="head">Its head.</param>
    /// <param name="message">Its message, if the flags say that there is one.</param>
    /// <param name="isDeferred">Whether the peer need not see it before <see cref="FlushDeferred"/>.</param>
    public StartResult StartCall(
        ConnectionCall call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        bool isDeferred = false)
    {
        StartResult result = _sender.Start(call, flags, head, message, isDeferred);
        if (result == StartResult.Started && call.Waiter is null && !isDeferred)
        {
            EnsureReader();
        }

        return result;
    }

    /// <summary>Publishes calls that were started and deferred.</summary>
    public void FlushDeferred()
    {
        _sender.FlushDeferred();
        EnsureReader();
    }

    /// <summary>Starts a call and returns when it is done. The call has a waiter: that of this thread.</summary>
    /// <param name="call">The call.</param>
    /// <param name="flags">The flags of its first frame.</param>
    /// <param name="head">Its head.</param>
    /// <param name="message">Its message, where the flags say that there is one.</param>
    /// <param name="largeMessage">A message that is too large for the first frame; null for none.</param>
    public StartResult RunCall(
        ConnectionCall call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        PooledBufferWriter? largeMessage)
    {
        CallerLease turn = _callers.Enter();
        try
        {
            StartResult result = _sender.Start(call, flags, head, message);
            if (result == StartResult.Started)
            {
                if (largeMessage is not null)
                {
                    SendRequest(call, largeMessage);
                }

                _callers.WaitUntilDone(call, ref turn);
            }

            return result;
        }
        finally
        {
            _callers.Leave(ref turn);
        }
    }

    /// <summary>
    /// Sends the rest of the message of a call that was started with <see cref="StartCall"/>, and returns when the call
    /// is done. The call has a waiter: that of this thread.
    /// </summary>
    public void FinishCall(ConnectionCall call, PooledBufferWriter rest)
    {
        CallerLease turn = _callers.Enter();
        try
        {
            SendRequest(call, rest);
            _callers.WaitUntilDone(call, ref turn);
        }
        finally
        {
            _callers.Leave(ref turn);
        }
    }

    /// <summary>Sends a frame of a call that has begun; see <see cref="FrameSender.Send"/>.</summary>
    public void Send(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body) =>
        _sender.Send(call, kind, flags, head, body);

    /// <summary>Sends a message of a call that has begun; see <see cref="MessageSender.Send"/>.</summary>
    public void SendMessage(ConnectionCall call, FrameFlags flags, PooledBufferWriter message) =>
        _sender.Messages.Send(call, flags, message);

    /// <summary>The same, for whoever waits for it; see <see cref="MessageSender.SendAsync"/>.</summary>
    public Task<bool> SendMessageAsync(ConnectionCall call, FrameFlags flags, PooledBufferWriter message) =>
        _sender.Messages.SendAsync(call, flags, message);

    /// <summary>
    /// Sends the one request of a call that has begun, or what was not sent of it; see
    /// <see cref="MessageSender.Send"/>.
    /// </summary>
    public void SendRequest(ConnectionCall call, PooledBufferWriter request) =>
        SendMessage(call, FrameFlags.HalfClose | FrameFlags.Single, request);

    /// <summary>The same, for whoever waits for it; see <see cref="MessageSender.SendAsync"/>.</summary>
    public Task<bool> SendRequestAsync(ConnectionCall call, PooledBufferWriter request) =>
        SendMessageAsync(call, FrameFlags.HalfClose | FrameFlags.Single, request);

    /// <summary>
    /// Sends a part of a message of a call that has begun; see <see cref="MessageSender.SendPart"/>.
    /// </summary>
    public int SendPart(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength) =>
        _sender.Messages.SendPart(call, flags, part, wholeLength);

    /// <summary>See <see cref="MessageSender.BreakOff"/>.</summary>
    public bool BreakOff(ConnectionCall call) => _sender.Messages.BreakOff(call);

    public void SendCredit(ConnectionCall call, uint bytes) => _sender.SendCredit(call, bytes);

    /// <summary>Gives up a call that this side has started; see <see cref="FrameSender.Abandon"/>.</summary>
    public void Abandon(ConnectionCall call, bool isCancel) => _sender.Abandon(call, isCancel);

    /// <summary>Sends no more messages of a call of the peer; see <see cref="FrameSender.CutShort"/>.</summary>
    public void CutShort(ConnectionCall call) => _sender.CutShort(call);

    /// <summary>Sends nothing more of a call, and lets go of what it had queued.</summary>
    public void DropQueued(ConnectionCall call) => _sender.Drop(call);

    /// <summary>See <see cref="FrameSender.TryLetGo"/>.</summary>
    public bool TryLetGo(ConnectionCall call) => _sender.TryLetGo(call);

    /// <summary>Wakes callers that sleep on the ring: one of their calls was completed by another thread.</summary>
    public void WakeReaders() => _link.RaiseLocalEvent();

    /// <summary>Tells the peer that this side takes and makes no new calls.</summary>
    public void SendGoAway() => _sender.SendGoAway();

    /// <summary>Closes the connection; calls that live end with the reason.</summary>
    public void Close(CloseReason reason) => _link.Close(reason);

    // The link is closed or its peer is gone: everybody who sleeps here looks again.
    private void OnLinkEvent()
    {
        _coordinator.StandbyRequested.Signal();
        _coordinator.SleepingCallers.SignalAll();
        _standby.OnLinkEvent();
    }

    // The fence stands between the count of a call and the question who reads. A frame that was queued brought none.
    private void EnsureReader()
    {
        Interlocked.MemoryBarrier();
        _coordinator.LookForReader();
    }

    private void OnGoAway()
    {
        // Once: whatever is done about it is not to be done for each of a flood.
        if (!_link.IsPeerLeaving)
        {
            _link.IsPeerLeaving = true;
            _onGoAway?.Invoke(this);
        }
    }

    private void OnClosed()
    {
        // The sender first: a call that it has entered is in the snapshot, and it enters no more.
        _sender.Close();
        CloseReason reason = _link.CloseReason!;
        IEnumerable<ConnectionCall> calls = _sender.Outgoing.Snapshot().Concat(_sender.Incoming.Snapshot());
        foreach (ConnectionCall call in _receiver.Ending is { } ending ? calls.Append(ending) : calls)
        {
            call.OnConnectionClosed(reason);
            if (call.HasUserCode)
            {
                call.QueueUserCode();
            }
        }

        _closed.SetResult();
    }
}
