using System.Diagnostics;
using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Sending;

/// <summary>
/// Sends the frames of one connection: multiplexes its calls onto one ring. Any thread may call it, and no caller waits
/// for space: frames that do not fit are queued, and the event loop sends them. So the reader never stops
/// draining the incoming ring to send credit or cancels. The gate is held to copy into the ring and to update calls,
/// never for serialising, user code or a wake-up of the peer.
/// </summary>
internal sealed partial class FrameSender
{
    // The most bytes of head plus message that go as one record. A larger message goes in records of its own.
    private const int InlineLimitBytes = 16 << 10;

    private readonly PeerLink _link;
    private readonly FrameWriter _writer;
    private readonly OutboundQueue _queue;
    private readonly FramePublisher _publisher;
    private readonly OutboundPump _pump;
    private bool _isGoAwaySent;

    /// <summary>
    /// Begins to send. Queued frames count towards the budget, those of outgoing calls only if
    /// <paramref name="chargesOwnCalls"/> is true; without a budget, none is counted.
    /// </summary>
    public FrameSender(PeerLink link, ReaderRole role, BufferBudget? budget = null, bool chargesOwnCalls = true)
    {
        _link = link;
        Outgoing = new OutgoingCalls(link.PeerLimits.MaxCalls, link.IsAcceptor);
        Incoming = new IncomingCalls(link.OwnLimits.MaxCalls, !link.IsAcceptor, link.OwnLimits.CallWindow);
        OneWay = new OneWayCalls(Outgoing, link.PeerLimits);
        _writer = new FrameWriter(link, Incoming);
        _queue = new OutboundQueue(_writer, budget, chargesOwnCalls);
        _publisher = new FramePublisher(link, role, _writer);
        _pump = new OutboundPump(_publisher, _writer, _queue);
        Messages = new MessageSender(_publisher, _writer, _queue, _pump);
    }

    /// <summary>The calls that this side has started.</summary>
    public OutgoingCalls Outgoing { get; }

    /// <summary>The calls that the peer has started.</summary>
    public IncomingCalls Incoming { get; }

    /// <summary>
    /// The maximum total bytes of head and message in the first or last frame of a call. It can only grow.
    /// </summary>
    public int InlineBytes => Math.Min(InlineLimitBytes, _writer.MaxPayloadBytes);

    /// <summary>Requests <see cref="SendWaiting"/> on the event loop; set before anything is sent.</summary>
    public Action? OnSpaceWanted
    {
        get => _pump.OnSpaceWanted;
        set => _pump.OnSpaceWanted = value;
    }

    /// <summary>Sends the messages that are not part of a call's first or last frame.</summary>
    public MessageSender Messages { get; }

    /// <summary>The outgoing one-way calls: their room, and the callers that wait for it.</summary>
    public OneWayCalls OneWay { get; }

    /// <summary>
    /// Sends the first frame of a call, or queues it if the ring is full. The call is added under the same gate, so it
    /// is known before a response can arrive. If <paramref name="isDeferred"/> is true, the publish may wait until
    /// <see cref="FlushDeferred"/>; otherwise a start is a full fence after the call was counted. A one-way call may
    /// have to wait for room; its cost is set, but for the head.
    /// </summary>
    public StartResult Start(
        ConnectionCall call,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        bool isDeferred = false)
    {
        bool isSent;
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            // Nobody would start a one-way call again that a leaving peer has refused.
            if (scope.IsRetired || (call.IsOneWay && _link.IsPeerLeaving))
            {
                OneWay.Leave(call);
                return StartResult.Closed;
            }

            if (OutboundQueue.IsOver(call))
            {
                return StartResult.GivenUp;
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
                call.Sending.Window = _link.PeerLimits.CallWindow;
            }
            else
            {
                return StartResult.TooManyCalls;
            }

            isSent = _queue.TryWriteOrQueue(call, FrameKind.CallStart, flags, head, message);
            if (isDeferred)
            {
                scope.Defer();
            }
            else
            {
                scope.PublishOrDefer();
            }
        }

        if (!isSent)
        {
            // A frame that was sent was published, which is a fence.
            Interlocked.MemoryBarrier();
            _pump.SendReady();
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
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            if (scope.IsClosed || OutboundQueue.IsOver(call))
            {
                return;
            }

            isSent = _queue.TryWriteOrQueue(call, kind, flags, head, body);
            scope.PublishOrDefer();
        }

        SendQueuedUnless(isSent);
    }

    /// <summary>Grants the peer <paramref name="bytes"/> more bytes of messages on this call.</summary>
    public void SendCredit(ConnectionCall call, uint bytes)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            if (scope.IsClosed || OutboundQueue.IsOver(call))
            {
                return;
            }

            call.Sending.PendingCredit += bytes;
            _queue.EnqueueControl(call);
        }

        _pump.SendReady();
    }

    /// <summary>Adds credit from the peer and sends the frames it allows. The caller holds the reader role.</summary>
    /// <exception cref="ProtocolException">The credit exceeds <see cref="PeerLimits.LargestCallWindow"/>.</exception>
    public void AddCredit(ConnectionCall call, uint bytes)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            call.Sending.Window += bytes;
            if (call.Sending.Window > PeerLimits.LargestCallWindow)
            {
                throw new ProtocolException($"Credit of {call.Sending.Window} bytes for call {call.Id}.");
            }

            if (scope.IsClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.EnqueueReady(call);
            call.Sending.Set(SendFlags.WithReader);
        }

        _pump.SendReady();
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            call.Sending.Set(SendFlags.WithReader, false);
        }
    }

    /// <summary>Sends nothing more of a call, because it or its connection ended. Drops its queued frames.</summary>
    public void Drop(ConnectionCall call)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
        }
    }

    /// <summary>Forgets an incoming call that will send no End, because the connection is closed.</summary>
    public void Forget(ConnectionCall call)
    {
        using FramePublisher.Scope scope = _publisher.Enter();
        Incoming.Remove(call);
    }

    /// <summary>
    /// Stops sending messages of an incoming call, so its end does not wait for credit. A peer that has cancelled the
    /// call or does not read never gives any.
    /// </summary>
    public void CutShort(ConnectionCall call)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            call.Sending.CutShort();
            if (scope.IsClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.EnqueueReady(call);
        }

        _pump.SendReady();
    }

    /// <summary>
    /// Drops the queued frames of an outgoing call that the peer has refused, before its transparent retry. Returns
    /// false while the holder of the reader role sends frames of the call.
    /// </summary>
    public bool TryLetGo(ConnectionCall call)
    {
        bool isFree;
        bool hasMoved;
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            isFree = !call.Sending.Is(SendFlags.WithReader);
            hasMoved = _queue.Remove(call);
        }

        if (hasMoved)
        {
            // The calls behind it may need less space.
            _pump.SendReady();
        }

        return isFree;
    }

    /// <summary>
    /// Abandons an outgoing call, whether or not its start was sent. Drops its queued frames and, if the peer knows the
    /// call and <paramref name="isCancel"/> is true, sends a cancel, after a half-close if only that was queued. A
    /// caller passes false if the peer has ended the call.
    /// </summary>
    public void Abandon(ConnectionCall call, bool isCancel)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            CallSendPhase phase = call.Sending.Phase;
            bool isHalfClosed = call.Sending.HasOnlyHalfClose;
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
            bool isNew = phase == CallSendPhase.New && !scope.IsClosed;
            if (isNew && !call.Id.IsNone)
            {
                Outgoing.Withdraw(call);
                OneWay.WakeFirst(); // It may wait for a slot.
            }

            if (call.IsOneWay)
            {
                if (isNew && !call.Id.IsNone)
                {
                    OneWay.Return(call);
                }

                OneWay.Leave(call);
            }

            // A one-way call is over for its starter with its last frame.
            if (phase != CallSendPhase.Open || scope.IsClosed || !isCancel || (call.IsOneWay && call.IsAllSent))
            {
                return;
            }

            call.Sending.Set(SendFlags.HalfClosePending, isHalfClosed);
            call.Sending.Set(SendFlags.CancelPending);
            _queue.EnqueueControl(call);
        }

        _pump.SendReady();
    }

    /// <summary>Tells the peer that this connection takes no new calls. Repeated calls have no effect.</summary>
    public void SendGoAway()
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            if (scope.IsClosed || _isGoAwaySent)
            {
                return;
            }

            _isGoAwaySent = true;
            _queue.EnqueueGoAway();
        }

        _pump.SendReady();
    }

    /// <summary>Whether something waits for space.</summary>
    public bool IsWaitingForSpace => _pump.IsWaiting;

    /// <summary>Whether <see cref="SendWaiting"/> would find space. A hint, for the event loop.</summary>
    public bool HasSpaceForWaiting => _pump.HasSpaceForWaiting;

    /// <summary>Sends what waited for space, on the event loop; see <see cref="OutboundPump.SendWaiting"/>.</summary>
    public void SendWaiting() => _pump.SendWaiting();

    /// <summary>Starts no more outgoing calls: <see cref="Start"/> finds the connection closed from here on.</summary>
    public void Retire()
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            scope.Retire();
            OneWay.WakeAll();
        }
    }

    /// <summary>Closes the writing side and leaves the link's memory. Called once, after the link closed.</summary>
    public void Close()
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            Debug.Assert(!scope.IsClosed, "The writing side leaves the link once.");
            scope.Close();
            _queue.Clear();
            OneWay.WakeAll();
        }

        _link.Leave();
    }

    /// <summary>Whether frames are written whose publish was deferred. A hint.</summary>
    public bool HasDeferred => _publisher.HasDeferred;

    public void FlushDeferred() => _publisher.FlushDeferred();

    private void SendQueuedUnless(bool isSent)
    {
        if (!isSent)
        {
            _pump.SendReady();
        }
    }
}
