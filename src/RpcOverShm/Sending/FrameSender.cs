using System.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Sending;

/// <summary>
/// Many calls, one ring: takes frames from any thread and lets the calls that wait take turns. Nobody who calls here
/// waits for space: what does not fit is queued and sent by the space waiter's thread. So the reader may send credit
/// and cancels without ever stalling the ring that it drains. The gate is held for copying into the ring, never for
/// serialising, for user code or for a system call.
/// </summary>
internal sealed class FrameSender
{
    // The largest head and message that go as one record; a larger message passes as chunks under credit.
    private const int InlineLimitBytes = 16 << 10;

    private readonly PeerLink _link;
    private readonly FrameWriter _writer;
    private readonly OutboundQueue _queue;
    private readonly FramePublisher _publisher;
    private readonly OutboundPump _pump;
    private bool _isGoAwaySent;

    /// <param name="link">The link whose ring is written.</param>
    /// <param name="role">Tells which thread reads on after its user code.</param>
    public FrameSender(PeerLink link, ReaderRole role)
    {
        _link = link;
        Outgoing = new OutgoingCalls(link.PeerLimits.MaxCalls, link.IsAcceptor);
        Incoming = new IncomingCalls(link.OwnLimits.MaxCalls, !link.IsAcceptor);
        _writer = new FrameWriter(link, Incoming);
        _queue = new OutboundQueue(_writer);
        _publisher = new FramePublisher(link, role, _writer);
        _pump = new OutboundPump(link, _publisher, _writer, _queue);
        Messages = new MessageSender(_publisher, _writer, _queue, _pump);
        InlineBytes = Math.Min(InlineLimitBytes, _writer.MaxPayloadBytes);
    }

    /// <summary>The calls that this side has started.</summary>
    public OutgoingCalls Outgoing { get; }

    /// <summary>The calls of the peer.</summary>
    public IncomingCalls Incoming { get; }

    /// <summary>The most bytes of head and message that a call's first or last frame carries together.</summary>
    public int InlineBytes { get; }

    /// <summary>Sends the messages that do not go with a call's first or last frame.</summary>
    public MessageSender Messages { get; }

    /// <summary>
    /// Sends the first frame of a call, or queues it: never fails for want of space. The call is entered under the same
    /// gate, so that it is known before an answer can come.
    /// </summary>
    /// <param name="call">The call.</param>
    /// <param name="flags">The flags of the frame.</param>
    /// <param name="head">The call's head.</param>
    /// <param name="message">Its message, if the flags say that there is one.</param>
    /// <param name="isDeferred">Whether the peer need not see it before <see cref="FlushDeferred"/>.</param>
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
            if (scope.IsClosed || call.Sending.Phase == CallSendPhase.Finished)
            {
                return scope.IsClosed ? StartResult.Closed : StartResult.GivenUp;
            }

            if (!Outgoing.TryAdd(call))
            {
                return StartResult.TooManyCalls;
            }

            call.Sending.Window = _link.PeerLimits.CallWindow;
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

        SendQueuedUnless(isSent);
        return StartResult.Started;
    }

    /// <summary>
    /// Sends a frame, or queues it behind what the call has queued already. A frame of a call that is finished is
    /// dropped. A head of more bytes than a record takes comes without a message.
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

    /// <summary>Gives the peer credit: it may send so many more bytes of messages on this call.</summary>
    public void SendCredit(ConnectionCall call, uint bytes)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            if (scope.IsClosed || OutboundQueue.IsOver(call))
            {
                return;
            }

            call.Sending.PendingCredit += bytes;
            _queue.EnqueueDebt(call);
        }

        _pump.SendReady();
    }

    /// <summary>The peer gave credit. The caller holds the reader role.</summary>
    /// <exception cref="ProtocolException">It gave more than any window can be.</exception>
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

            _queue.EnqueueCredit(call);
            call.Sending.IsWithReader = true;
        }

        _pump.SendReady();
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            call.Sending.IsWithReader = false;
        }
    }

    /// <summary>
    /// Sends nothing more of a call, and lets go of what it had queued. For a call or connection that has ended.
    /// </summary>
    public void Drop(ConnectionCall call)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
        }
    }

    /// <summary>
    /// Sends no more messages of a call that this side serves, so that its end need not wait for credit that a peer
    /// which has given it up, or does not read, never gives.
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

            _queue.EnqueueCredit(call);
        }

        _pump.SendReady();
    }

    /// <summary>
    /// Lets go of a call that the peer has ended, which is to be started anew: drops what it has queued. False while
    /// the holder of the reader role has to do with it here.
    /// </summary>
    public bool TryLetGo(ConnectionCall call)
    {
        bool isFree;
        bool hasMoved;
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            isFree = !call.Sending.IsWithReader;
            hasMoved = _queue.Remove(call);
        }

        if (hasMoved)
        {
            // Who stood behind it may need less space.
            _pump.SendReady();
        }

        return isFree;
    }

    /// <summary>
    /// Gives a call up that this side has started, or was about to: nothing more of it is sent but the cancel, and a
    /// half-close that waits for nothing but its turn.
    /// </summary>
    /// <param name="call">The call.</param>
    /// <param name="isCancel">
    /// True to tell the peer, if it knows the call; false when the peer has ended it itself.
    /// </param>
    public void Abandon(ConnectionCall call, bool isCancel)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            CallSendPhase phase = call.Sending.Phase;
            bool isHalfClosed = call.Sending.HasOnlyHalfClose;
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
            if (scope.IsClosed || phase == CallSendPhase.Finished)
            {
                return;
            }

            if (phase == CallSendPhase.New && !call.Id.IsNone)
            {
                Outgoing.Withdraw(call);
            }

            if (phase == CallSendPhase.New || !isCancel)
            {
                return;
            }

            call.Sending.IsHalfClosePending = isHalfClosed;
            call.Sending.IsCancelPending = true;
            _queue.EnqueueDebt(call);
        }

        _pump.SendReady();
    }

    /// <summary>Tells the peer that no new calls are taken on this connection. Once; later calls do nothing.</summary>
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

    /// <summary>
    /// Ends the writing side: drops what waits and lets go of the memory. Called once, when the link is closed.
    /// </summary>
    public void Close()
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            Debug.Assert(!scope.IsClosed, "The writing side leaves the link once.");
            scope.Close();
            _queue.Clear();
        }

        _pump.Close();
        _link.Leave();
    }

    /// <summary>See <see cref="FramePublisher.FlushDeferred"/>.</summary>
    public void FlushDeferred() => _publisher.FlushDeferred();

    private void SendQueuedUnless(bool isSent)
    {
        if (!isSent)
        {
            _pump.SendReady();
        }
    }
}

/// <summary>What became of the attempt to start a call.</summary>
internal enum StartResult
{
    /// <summary>The connection is closed.</summary>
    Closed,

    Started,

    /// <summary>The call was given up before it was sent.</summary>
    GivenUp,

    /// <summary>As many calls live as the peer takes at a time.</summary>
    TooManyCalls,
}
