using System.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Connections;

/// <summary>
/// Many calls, one ring: takes frames from any thread and lets the calls that wait take turns. Nobody who calls here
/// waits for space: what does not fit is queued and sent by the space waiter's thread. So the reader may send credit
/// and cancels without ever stalling the ring that it drains. The gate is held for copying into the ring, never for
/// serialising, for user code or for a system call.
/// </summary>
internal sealed class FrameSender
{
    // How many calls of a batch are written while the gate is held.
    private const int CallsPerSlice = 64;

    // The largest head and message that go as one record; a larger message passes as chunks under credit.
    private const int InlineLimitBytes = 16 << 10;

    private readonly PeerLink _link;
    private readonly FrameWriter _writer;
    private readonly OutboundQueue _queue;
    private readonly FramePublisher _publisher;
    private readonly OutboundPump _pump;
    private bool _isGoAwaySent;

    public FrameSender(PeerLink link)
    {
        _link = link;
        _writer = new FrameWriter(link);
        _queue = new OutboundQueue(_writer);
        _publisher = new FramePublisher(link, _writer);
        _pump = new OutboundPump(link, _publisher, _writer, _queue);
        Messages = new MessageSender(_publisher, _writer, _queue, _pump);
        InlineBytes = Math.Min(InlineLimitBytes, _writer.MaxPayloadBytes);
    }

    /// <summary>The most bytes of head and message that a call's first or last frame carries together.</summary>
    public int InlineBytes { get; }

    /// <summary>Sends the messages that do not go with a call's first or last frame.</summary>
    public MessageSender Messages { get; }

    /// <summary>
    /// Sends the first frame of a call, or queues it: never fails for want of space. The call is entered under the same
    /// gate, so that it is known before an answer can come.
    /// </summary>
    public StartOutcome Start(
        StartedCalls calls, ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> message)
    {
        bool isSent = true;
        bool mustWake = false;
        try
        {
            lock (_publisher.Gate)
            {
                if (_publisher.IsClosed || call.Sending.Phase == CallSendPhase.Finished)
                {
                    return _publisher.IsClosed ? StartOutcome.Closed : StartOutcome.GivenUp;
                }

                if (!calls.TryAdd(call))
                {
                    return StartOutcome.TooManyCalls;
                }

                call.Sending.Window = _link.PeerLimits.CallWindow;
                isSent = _queue.TryWriteOrQueue(call, FrameKind.CallStart, flags, head, message);
                mustWake = _publisher.PublishOrHold();
            }
        }
        catch (RingCorruptedException exception)
        {
            // The call is entered: it ends with the connection, like all others.
            _publisher.CloseFor(exception);
        }

        Finish(isSent, mustWake);
        return StartOutcome.Started;
    }

    /// <summary>
    /// Sends the first frames of many calls as one publication, as far as the ring holds them; what does not fit is
    /// queued and follows. Each entry says what became of it.
    /// </summary>
    /// <param name="calls">Where the calls are entered.</param>
    /// <param name="entries">The calls.</param>
    /// <param name="bytes">Their heads and messages.</param>
    public void StartMany(StartedCalls calls, Span<BatchEntry> entries, ReadOnlySpan<byte> bytes)
    {
        bool isAllSent = true;
        while (!entries.IsEmpty)
        {
            // Others get a turn between the slices; only the last one publishes, or the ring's own need for it.
            int count = Math.Min(entries.Length, CallsPerSlice);
            isAllSent &= StartSlice(calls, entries[..count], bytes, isLast: count == entries.Length);
            entries = entries[count..];
        }

        Finish(isAllSent, mustWake: false);
    }

    /// <summary>
    /// Sends a frame, or queues it behind what the call has queued already. A frame of a call that is finished is
    /// dropped. A head of more bytes than a record takes comes without a message.
    /// </summary>
    public void Send(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        bool isSent = true;
        bool mustWake = false;
        try
        {
            lock (_publisher.Gate)
            {
                if (_publisher.IsClosed || OutboundQueue.IsOver(call))
                {
                    return;
                }

                isSent = _queue.TryWriteOrQueue(call, kind, flags, head, body);
                mustWake = _publisher.PublishOrHold();
            }
        }
        catch (RingCorruptedException exception)
        {
            _publisher.CloseFor(exception);
        }

        Finish(isSent, mustWake);
    }

    /// <summary>Gives the peer credit: it may send so many more bytes of messages on this call.</summary>
    public void SendCredit(ConnectionCall call, uint bytes)
    {
        lock (_publisher.Gate)
        {
            if (_publisher.IsClosed || OutboundQueue.IsOver(call))
            {
                return;
            }

            call.Sending.PendingCredit += bytes;
            _queue.NoteDebt(call);
        }

        _pump.SendReady();
    }

    /// <summary>The peer gave credit. The caller holds the reader role.</summary>
    /// <exception cref="ProtocolException">It gave more than any window can be.</exception>
    public void AddCredit(ConnectionCall call, uint bytes)
    {
        lock (_publisher.Gate)
        {
            call.Sending.Window += bytes;
            if (call.Sending.Window > PeerLimits.LargestCallWindow)
            {
                throw new ProtocolException($"Credit of {call.Sending.Window} bytes for call {call.Id}.");
            }

            if (_publisher.IsClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.NoteCredit(call);
            call.Sending.IsWithReader = true;
        }

        _pump.SendReady();
        lock (_publisher.Gate)
        {
            call.Sending.IsWithReader = false;
        }
    }

    /// <summary>
    /// Sends nothing more of a call, and lets go of what it had queued. For a call or connection that has ended.
    /// </summary>
    public void Drop(ConnectionCall call)
    {
        lock (_publisher.Gate)
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
        lock (_publisher.Gate)
        {
            call.Sending.CutShort();
            if (_publisher.IsClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.NoteCredit(call);
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
        lock (_publisher.Gate)
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
    /// <param name="calls">Where the call stands; one that the peer has not heard of is taken out.</param>
    /// <param name="call">The call.</param>
    /// <param name="isCancel">
    /// True to tell the peer, if it knows the call; false when the peer has ended it itself.
    /// </param>
    public void Abandon(StartedCalls calls, ConnectionCall call, bool isCancel)
    {
        lock (_publisher.Gate)
        {
            CallSendPhase phase = call.Sending.Phase;
            bool isHalfClosed = call.Sending.HasOnlyHalfClose;
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
            if (_publisher.IsClosed || phase == CallSendPhase.Finished)
            {
                return;
            }

            if (phase == CallSendPhase.New && !call.Id.IsNone)
            {
                calls.Withdraw(call);
            }

            if (phase == CallSendPhase.New || !isCancel)
            {
                return;
            }

            call.Sending.IsHalfClosePending = isHalfClosed;
            call.Sending.IsCancelPending = true;
            _queue.NoteDebt(call);
        }

        _pump.SendReady();
    }

    /// <summary>Tells the peer that no new calls are taken on this connection. Once; later calls do nothing.</summary>
    public void SendGoAway()
    {
        lock (_publisher.Gate)
        {
            if (_publisher.IsClosed || _isGoAwaySent)
            {
                return;
            }

            _isGoAwaySent = true;
            _queue.NoteGoAway();
        }

        _pump.SendReady();
    }

    /// <summary>
    /// Ends the writing side: drops what waits and lets go of the memory. Called once, when the link is closed.
    /// </summary>
    public void Close()
    {
        lock (_publisher.Gate)
        {
            Debug.Assert(!_publisher.IsClosed, "The writing side leaves the link once.");
            _publisher.IsClosed = true;
            _queue.Clear();
        }

        _pump.Close();
        _link.Leave();
    }

    /// <summary>See <see cref="FramePublisher.FlushHeld"/>.</summary>
    public void FlushHeld() => _publisher.FlushHeld();

    private bool StartSlice(
        StartedCalls calls, Span<BatchEntry> entries, ReadOnlySpan<byte> bytes, bool isLast)
    {
        bool isAllSent = true;
        bool mustWake = false;
        try
        {
            lock (_publisher.Gate)
            {
                _writer.IsBatching = true;
                foreach (ref BatchEntry entry in entries)
                {
                    isAllSent &= StartEntry(calls, ref entry, bytes);
                }

                _writer.IsBatching = false;
                mustWake = !_publisher.IsClosed && (isLast || !isAllSent) && _publisher.Publish();
            }
        }
        catch (RingCorruptedException exception)
        {
            _publisher.CloseFor(exception);
        }

        _publisher.WakePeer(mustWake);
        return isAllSent;
    }

    // Under the gate. True when nothing of the entry waits.
    private bool StartEntry(StartedCalls calls, ref BatchEntry entry, ReadOnlySpan<byte> bytes)
    {
        ConnectionCall call = entry.Call;
        if (_publisher.IsClosed || call.Sending.Phase == CallSendPhase.Finished)
        {
            entry.Outcome = _publisher.IsClosed ? StartOutcome.Closed : StartOutcome.GivenUp;
            return true;
        }

        if (!calls.TryAdd(call))
        {
            entry.Outcome = StartOutcome.TooManyCalls;
            return true;
        }

        entry.Outcome = StartOutcome.Started;
        call.Sending.Window = _link.PeerLimits.CallWindow;
        ReadOnlySpan<byte> head = bytes.Slice(entry.Offset, entry.HeadLength);
        ReadOnlySpan<byte> message = bytes.Slice(entry.Offset + entry.HeadLength, entry.MessageLength);
        FrameFlags flags = entry.IsWhole ? FrameFlags.HasMessage | FrameFlags.HalfClose : FrameFlags.None;
        return _queue.TryWriteOrQueue(call, FrameKind.CallStart, flags, head, message);
    }

    private void Finish(bool isSent, bool mustWake)
    {
        _publisher.WakePeer(mustWake);
        if (!isSent)
        {
            _pump.SendReady();
        }
    }
}
