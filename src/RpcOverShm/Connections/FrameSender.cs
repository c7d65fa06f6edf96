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

    private static readonly Task<bool> s_sent = Task.FromResult(true);
    private static readonly Task<bool> s_dropped = Task.FromResult(false);

    private readonly Lock _gate = new();
    private readonly PeerLink _link;
    private readonly FrameWriter _writer;
    private readonly SpaceWaiter _spaceWaiter;
    private readonly OutboundQueue _queue;
    private volatile bool _hasHeld; // records in the ring are not published, because their writer reads on first
    private bool _isClosed;
    private bool _isGoAwaySent;

    public FrameSender(PeerLink link)
    {
        _link = link;
        _writer = new FrameWriter(link);
        _queue = new OutboundQueue(_writer);
        _spaceWaiter = new SpaceWaiter(link, SendReadyOrPark, Unpark);
        InlineBytes = Math.Min(InlineLimitBytes, _writer.MaxPayloadBytes);
    }

    /// <summary>The most bytes of head and message that a call's first or last frame carries together.</summary>
    public int InlineBytes { get; }

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
            lock (_gate)
            {
                if (_isClosed || call.Sending.Phase == CallSendPhase.Finished)
                {
                    return _isClosed ? StartOutcome.Closed : StartOutcome.GivenUp;
                }

                if (!calls.TryAdd(call))
                {
                    return StartOutcome.TooManyCalls;
                }

                call.Sending.Window = _link.PeerLimits.CallWindow;
                isSent = _queue.TryWriteOrQueue(call, FrameKind.CallStart, flags, head, message);
                mustWake = PublishOrHold();
            }
        }
        catch (RingCorruptedException exception)
        {
            // The call is entered: it ends with the connection, like all others.
            CloseFor(exception);
        }

        Finish(isSent, mustWake);
        return StartOutcome.Started;
    }

    /// <summary>
    /// Sends the first frames of many calls as one publication, as far as the ring holds them; what does not fit is queued
    /// and follows. Each entry says what became of it.
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
            lock (_gate)
            {
                if (_isClosed || OutboundQueue.IsOver(call))
                {
                    return;
                }

                isSent = _queue.TryWriteOrQueue(call, kind, flags, head, body);
                mustWake = PublishOrHold();
            }
        }
        catch (RingCorruptedException exception)
        {
            CloseFor(exception);
        }

        Finish(isSent, mustWake);
    }

    /// <summary>Sends a message of any size, or as much of it as credit and space allow; the rest is queued.</summary>
    /// <param name="call">The call.</param>
    /// <param name="flags">Half-close, when no message follows.</param>
    /// <param name="message">The bytes; taken over when they cannot be sent at once.</param>
    /// <returns>
    /// Completes with true when the message is in the ring, with false when it was dropped because its call has ended.
    /// </returns>
    public Task<bool> SendMessageAsync(ConnectionCall call, FrameFlags flags, PooledBufferWriter message)
    {
        bool isSent = false;
        bool mustWake = false;
        OutboundFrame? queued = null;
        try
        {
            lock (_gate)
            {
                if (_isClosed || OutboundQueue.IsOver(call) || call.Sending.IsCutShort)
                {
                    return s_dropped;
                }

                isSent = _queue.CanGoNow(call)
                    && _writer.TryWriteWhole(call, FrameKind.Message, flags, default, message.WrittenSpan);
                if (!isSent)
                {
                    byte[] buffer = message.Detach(out int length);
                    queued = new OutboundFrame(FrameKind.Message, flags, buffer, length);
                    _queue.Enqueue(call, queued);
                }

                mustWake = PublishOrHold();
            }
        }
        catch (RingCorruptedException exception)
        {
            CloseFor(exception);
        }

        Finish(isSent: queued is null, mustWake);
        return queued?.WaitUntilFinishedAsync() ?? (isSent ? s_sent : s_dropped);
    }

    /// <summary>Gives the peer credit: it may send so many more bytes of messages on this call.</summary>
    public void SendCredit(ConnectionCall call, uint bytes)
    {
        lock (_gate)
        {
            if (_isClosed || OutboundQueue.IsOver(call))
            {
                return;
            }

            call.Sending.PendingCredit += bytes;
            _queue.NoteDebt(call);
        }

        SendReady();
    }

    /// <summary>The peer gave credit. The caller holds the reader role.</summary>
    /// <exception cref="ProtocolException">It gave more than any window can be.</exception>
    public void AddCredit(ConnectionCall call, uint bytes)
    {
        lock (_gate)
        {
            call.Sending.Window += bytes;
            if (call.Sending.Window > PeerLimits.LargestCallWindow)
            {
                throw new ProtocolException($"Credit of {call.Sending.Window} bytes for call {call.Id}.");
            }

            if (_isClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.NoteCredit(call);
        }

        SendReady();
    }

    /// <summary>
    /// Sends nothing more of a call, and lets go of what it had queued. For a call or connection that has ended.
    /// </summary>
    public void Drop(ConnectionCall call)
    {
        lock (_gate)
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
        lock (_gate)
        {
            call.Sending.CutShort();
            if (_isClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.NoteCredit(call);
        }

        SendReady();
    }

    /// <summary>Gives a call up that this side has started, or was about to: nothing more of it is sent.</summary>
    /// <param name="calls">Where the call stands; one that the peer has not heard of is taken out.</param>
    /// <param name="call">The call.</param>
    /// <param name="isCancel">
    /// True to tell the peer, if it knows the call; false when the peer has ended it itself.
    /// </param>
    public void Abandon(StartedCalls calls, ConnectionCall call, bool isCancel)
    {
        lock (_gate)
        {
            CallSendPhase phase = call.Sending.Phase;
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
            if (_isClosed || phase == CallSendPhase.Finished)
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

            call.Sending.IsCancelPending = true;
            _queue.NoteDebt(call);
        }

        SendReady();
    }

    /// <summary>Tells the peer that no new calls are taken on this connection. Once; later calls do nothing.</summary>
    public void SendGoAway()
    {
        lock (_gate)
        {
            if (_isClosed || _isGoAwaySent)
            {
                return;
            }

            _isGoAwaySent = true;
            _queue.NoteGoAway();
        }

        SendReady();
    }

    /// <summary>
    /// Ends the writing side: drops what waits and lets go of the memory. Called once, when the link is closed.
    /// </summary>
    public void Close()
    {
        lock (_gate)
        {
            Debug.Assert(!_isClosed, "The writing side leaves the link once.");
            _isClosed = true;
            _queue.Clear();
        }

        _spaceWaiter.Close();
        _link.Leave();
    }

    /// <summary>
    /// Publishes what was held back. By whoever has read all there is to read, takes the role anew, or has lost it.
    /// </summary>
    public void FlushHeld()
    {
        if (!_hasHeld)
        {
            return;
        }

        bool mustWake;
        lock (_gate)
        {
            _hasHeld = false;
            mustWake = !_isClosed && _writer.Publish();
        }

        WakePeer(mustWake);
    }

    /// <summary>
    /// Under the gate, on an open link. Makes what was written visible, unless the writer is user code that runs inline
    /// between two records that came together: then it is published with what the next ones bring.
    /// </summary>
    private bool PublishOrHold()
    {
        if (!InlineThread.IsHolderInUserCode(_link) || !_link.Reader.HasData)
        {
            _hasHeld = false;
            return _writer.Publish();
        }

        // Whoever takes the role from this thread looks at the flag after that, and this thread at the role after the flag.
        _hasHeld = true;
        Interlocked.MemoryBarrier();
        if (InlineThread.IsHolderInUserCode(_link))
        {
            return false;
        }

        _hasHeld = false;
        return _writer.Publish();
    }

    private bool StartSlice(
        StartedCalls calls, Span<BatchEntry> entries, ReadOnlySpan<byte> bytes, bool isLast)
    {
        bool isAllSent = true;
        bool mustWake = false;
        try
        {
            lock (_gate)
            {
                _writer.IsBatching = true;
                foreach (ref BatchEntry entry in entries)
                {
                    isAllSent &= StartEntry(calls, ref entry, bytes);
                }

                _writer.IsBatching = false;
                mustWake = !_isClosed && (isLast || !isAllSent) && _writer.Publish();
            }
        }
        catch (RingCorruptedException exception)
        {
            CloseFor(exception);
        }

        WakePeer(mustWake);
        return isAllSent;
    }

    // Under the gate. True when nothing of the entry waits.
    private bool StartEntry(StartedCalls calls, ref BatchEntry entry, ReadOnlySpan<byte> bytes)
    {
        ConnectionCall call = entry.Call;
        if (_isClosed || call.Sending.Phase == CallSendPhase.Finished)
        {
            entry.Outcome = _isClosed ? StartOutcome.Closed : StartOutcome.GivenUp;
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
        WakePeer(mustWake);
        if (!isSent)
        {
            SendReady();
        }
    }

    /// <summary>Sends what can go on, turn by turn; hands over to the space waiter when the ring is full.</summary>
    private void SendReady()
    {
        TurnOutcome outcome;
        do
        {
            outcome = TakeTurn();
        }
        while (outcome == TurnOutcome.More);

        if (outcome == TurnOutcome.NoSpace)
        {
            _spaceWaiter.Wake();
        }
    }

    /// <summary>The space waiter's step; see there.</summary>
    private long? SendReadyOrPark()
    {
        while (true)
        {
            TurnOutcome outcome = TakeTurn();
            if (outcome == TurnOutcome.Idle)
            {
                return null;
            }

            try
            {
                lock (_gate)
                {
                    if (outcome == TurnOutcome.NoSpace && !_isClosed && _writer.ParkForSpace() is { } head)
                    {
                        return head;
                    }
                }
            }
            catch (RingCorruptedException exception)
            {
                // Parking looks at the peer's head as well, and an exception must not leave the waiter's thread.
                CloseFor(exception);
                return null;
            }
        }
    }

    private void Unpark()
    {
        lock (_gate)
        {
            if (!_isClosed)
            {
                _writer.UnparkForSpace();
            }
        }
    }

    private TurnOutcome TakeTurn()
    {
        TurnOutcome outcome;
        bool mustWake;
        try
        {
            lock (_gate)
            {
                if (_isClosed)
                {
                    return TurnOutcome.Idle;
                }

                outcome = _queue.WriteTurn();
                _hasHeld = false;
                mustWake = _writer.Publish();
            }
        }
        catch (RingCorruptedException exception)
        {
            CloseFor(exception);
            return TurnOutcome.Idle;
        }

        WakePeer(mustWake);
        return outcome;
    }

    private void CloseFor(RingCorruptedException exception) =>
        _link.Close(new CloseReason(CloseCause.PeerViolation, exception.Message, exception));

    private void WakePeer(bool mustWake)
    {
        if (mustWake && _link.TryEnter())
        {
            _link.WakePeerForData();
            _link.Leave();
        }
    }
}
