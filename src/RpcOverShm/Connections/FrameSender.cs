using System.Diagnostics;
using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// Sends the frames of one connection: multiplexes its calls onto one ring. Any thread may call it. No caller waits for
/// space: frames that do not fit are queued, and the event loop sends them. So sending credit or a cancel never keeps
/// the reader from draining the incoming ring. The gate is held only to copy into the ring and to update calls, never
/// for serialising, user code or a wake-up of the peer.
/// </summary>
internal sealed partial class FrameSender
{
    // The most bytes of head plus message that go as one record. A larger message goes in records of its own.
    private const int MaxSingleRecordBytes = 16 << 10;

    // A thread sends its own message while the ring has space, but frames of other calls for two turns only: it may
    // hold the reader role, and no thread reads while it sends. Two turns are eight records of up to 32 KiB.
    private const int MaxTurnsForOthers = 2;

    // The turns that the event loop takes before it serves its other connections: up to 1 MiB.
    private const int MaxTurnsOfLoop = 8;

    private readonly PeerLink _link;
    private readonly FrameWriter _writer;
    private readonly OutboundQueue _queue;
    private readonly SendGate _gate;
    private volatile bool _isLoopRequested; // the event loop is requested to send queued frames
    private long _stalls; // changed under the gate
    private bool _isGoAwaySent;

    /// <summary>
    /// Creates the sender of a link. Queued frames are charged to the budget, if there is one. Frames of outgoing calls
    /// are charged only if <paramref name="chargesOwnCalls"/> is true.
    /// </summary>
    public FrameSender(PeerLink link, ReaderRole role, BufferBudget? budget = null, bool chargesOwnCalls = true)
    {
        _link = link;
        Outgoing = new OutgoingCalls(link.PeerLimits.MaxCalls, link.IsAcceptor);
        Incoming = new IncomingCalls(link.OwnLimits.MaxCalls, !link.IsAcceptor, link.OwnLimits.OneWayWindow);
        OneWayCalls = new OneWayCalls(Outgoing, link.PeerLimits);
        _writer = new FrameWriter(link, Incoming);
        _queue = new OutboundQueue(_writer, budget, chargesOwnCalls);
        _gate = new SendGate(link, role, _writer);
        link.SetOnNews(SendNews);
    }

    /// <summary>The calls that this side has started.</summary>
    public OutgoingCalls Outgoing { get; }

    /// <summary>The calls that the peer has started.</summary>
    public IncomingCalls Incoming { get; }

    /// <summary>
    /// The maximum total bytes of head and message in the first or last frame of a call. It can only grow.
    /// </summary>
    public int SingleRecordBytes => Math.Min(MaxSingleRecordBytes, _writer.MaxPayloadBytes);

    /// <summary>Requests a run of <see cref="SendQueued"/> on the event loop. Set before anything is sent.</summary>
    public Action? RequestLoop { get; set; }

    /// <summary>The outgoing one-way calls: their window, and the callers that wait for capacity.</summary>
    public OneWayCalls OneWayCalls { get; }

    /// <summary>The number of waits for space in a full ring.</summary>
    public long Stalls => Volatile.Read(ref _stalls);

    /// <summary>Whether queued frames wait for the event loop to send them.</summary>
    public bool HasQueuedForLoop => _isLoopRequested;

    /// <summary>
    /// Whether queued frames wait for the event loop and the peer has released space. A hint.
    /// </summary>
    public bool CanSendQueued => _isLoopRequested && _writer.HasSpaceHint;

    /// <summary>Whether the ring contains frames whose publish is deferred. A hint.</summary>
    public bool HasDeferred => _gate.HasDeferred;

    /// <summary>
    /// Sends the first frame of a call, or queues it if the ring is full. The call is added under the same gate, so it
    /// is known before a response can arrive. If <paramref name="isDeferred"/> is true, the publish may wait until
    /// <see cref="FlushDeferred"/>; otherwise this method is a full fence after the call was counted. A one-way call
    /// may have to wait for capacity; the caller has set its cost without the head.
    /// </summary>
    public StartResult Start(
        ConnectionCall call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        bool isDeferred = false)
    {
        bool isSent;
        using (SendGate.Scope scope = _gate.Enter())
        {
            // One-way calls have no transparent retry, so they must not start on a connection whose peer refuses new
            // calls.
            if (scope.IsRetired || (call.IsOneWay && _link.IsPeerLeaving))
            {
                OneWayCalls.Leave(call);
                return StartResult.Closed;
            }

            if (OutboundQueue.IsSendingOver(call))
            {
                return StartResult.Abandoned;
            }

            if (call.IsOneWay)
            {
                StartResult result = TryAddOneWay(call, head.Length);
                if (result != StartResult.Started)
                {
                    return result;
                }
            }
            else if (Outgoing.TryAdd(call))
            {
                call.Sending.Credit = _link.PeerLimits.CallWindow;
            }
            else
            {
                return StartResult.TooManyCalls;
            }

            isSent = _queue.TryWriteOrQueue(call, FrameKind.CallStart, flags, head, message);
            if (isDeferred)
            {
                scope.DeferOnExit();
            }
            else
            {
                scope.PublishOrDeferOnExit();
            }
        }

        if (!isSent)
        {
            // A frame that was written is published, and publishing is a fence. A queued frame needs this one.
            Interlocked.MemoryBarrier();
            SendReady();
        }

        return StartResult.Started;
    }

    /// <summary>
    /// Sends a frame, or queues it behind the call's other frames. Drops it if the call is finished. A head that does
    /// not fit into one record must come without a body.
    /// </summary>
    public void Send(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        bool isSent;
        using (SendGate.Scope scope = _gate.Enter())
        {
            if (scope.IsClosed || OutboundQueue.IsSendingOver(call))
            {
                return;
            }

            isSent = _queue.TryWriteOrQueue(call, kind, flags, head, body);
            scope.PublishOrDeferOnExit();
        }

        if (!isSent)
        {
            SendReady();
        }
    }

    /// <summary>Tells the peer that this connection takes no new calls. Repeated calls have no effect.</summary>
    public void SendGoAway()
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            if (scope.IsClosed || _isGoAwaySent)
            {
                return;
            }

            _isGoAwaySent = true;
            _queue.EnqueueGoAway();
        }

        SendReady();
    }

    /// <summary>
    /// Sends queued frames on the event loop. If the ring is full, parks this side for space; the peer then wakes the
    /// loop. If more frames can be sent at once, requests another run.
    /// </summary>
    public void SendQueued()
    {
        if (!_isLoopRequested)
        {
            return;
        }

        _isLoopRequested = false;
        Unpark();
        for (int turns = 0; turns < MaxTurnsOfLoop; turns++)
        {
            TurnResult result = TakeTurn(isParking: true, out bool isParked);
            if (isParked)
            {
                _isLoopRequested = true;
                return;
            }

            if (result == TurnResult.Idle)
            {
                return;
            }
        }

        DeferToLoop();
    }

    /// <summary>
    /// Lets no more outgoing calls start: <see cref="Start"/> then returns <see cref="StartResult.Closed"/>.
    /// </summary>
    public void Retire()
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            scope.Retire();
            OneWayCalls.WakeAll();
        }
    }

    /// <summary>Closes the writing side and leaves the link's memory. Called once, after the link closed.</summary>
    public void Close()
    {
        try
        {
            using SendGate.Scope scope = _gate.Enter();
            Debug.Assert(!scope.IsClosed, "The writing side leaves the link once.");
            scope.Close();
            _queue.Clear();
            OneWayCalls.WakeAll();
        }
        finally
        {
            _link.Leave();
        }
    }

    public void FlushDeferred() => _gate.FlushDeferred();

    /// <summary>
    /// Sends queued frames, a few records per holding of the gate. Called by the thread that has queued frames or
    /// received credit. Leaves the rest to the event loop when the ring is full. Otherwise stops after two turns, or
    /// later when <paramref name="own"/> has nothing more to send.
    /// </summary>
    private void SendReady(ConnectionCall? own = null)
    {
        TurnResult result;
        int turns = 0;
        do
        {
            result = TakeTurn(isParking: false, out _);
            turns++;
        }
        while (result == TurnResult.More
            && (turns < MaxTurnsForOthers || own?.Sending.Is(SendStateFlags.Ready) == true));

        if (result != TurnResult.Idle)
        {
            DeferToLoop();
        }
    }

    private void DeferToLoop()
    {
        _isLoopRequested = true;
        RequestLoop?.Invoke();
    }

    private void Unpark()
    {
        using SendGate.Scope scope = _gate.Enter();
        if (!scope.IsClosed)
        {
            _writer.UnparkForSpace();
        }
    }

    /// <summary>
    /// Writes a few records. If <paramref name="isParking"/> is true and the ring is full, also parks this side for
    /// space. <paramref name="isParked"/> is false if the peer has released space meanwhile.
    /// </summary>
    private TurnResult TakeTurn(bool isParking, out bool isParked)
    {
        isParked = false;
        using SendGate.Scope scope = _gate.Enter();
        if (scope.IsClosed)
        {
            return TurnResult.Idle;
        }

        TurnResult result = _queue.WriteTurn();
        if (isParking && result == TurnResult.NoSpace)
        {
            // Inside the gate: otherwise another thread could refresh the head and write a small record, and this side
            // would park at a head that leaves space.
            isParked = _writer.TryParkForSpace();
            _stalls += isParked ? 1 : 0;
        }

        scope.PublishOnExit();
        return _writer.Corruption is null ? result : TurnResult.Idle;
    }
}

/// <summary>The result of starting a call.</summary>
internal enum StartResult
{
    /// <summary>The connection is closed or retired; the call may start on another one.</summary>
    Closed,

    Started,

    /// <summary>The call was abandoned before it was sent.</summary>
    Abandoned,

    /// <summary>The peer's limit of concurrent calls is reached.</summary>
    TooManyCalls,

    /// <summary>The one-way call waits for capacity: the peer has not ended enough of the earlier ones.</summary>
    WindowFull,
}
