using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// The queue of the unsent frames of one connection. Control frames (credit, cancel, GoAway) are sent first; then the
/// calls take turns, one record each. Used under the gate of the sender only. Queued frames are charged to the budget
/// of the connection, but not those of a client's own calls, which no peer causes.
/// </summary>
internal sealed class OutboundQueue(FrameWriter writer, BufferBudget? budget = null, bool chargesOwnCalls = true)
{
    // The number of records per holding of the gate, before other threads get a chance.
    private const int RecordsPerTurn = 4;

    private readonly Queue<ConnectionCall> _control = new(); // calls that owe the peer credit or a cancel
    private readonly Queue<ConnectionCall> _ready = new();   // calls with queued frames, in the order of their turns
    private bool _isGoAwayPending;

    /// <summary>
    /// Whether a frame may go at once: no call waits for its turn, and this one has none queued. Pieces that wait for
    /// their return go before it, so a peer that has read the frame has their memory.
    /// </summary>
    public bool TryGoFirst(ConnectionCall call) =>
        _ready.Count == 0 && !call.Sending.HasQueued && writer.TryWriteNews();

    /// <summary>Writes a frame if it may go and fits, or queues a copy. Returns whether it was written.</summary>
    public bool TryWriteOrQueue(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        if (TryGoFirst(call) && writer.TryWriteWhole(call, kind, flags, head, body))
        {
            return true;
        }

        Enqueue(call, OutboundFrame.Copy(kind, flags, head, body));
        return false;
    }

    /// <summary>Queues a frame behind the call's other frames.</summary>
    public void Enqueue(ConnectionCall call, OutboundFrame frame)
    {
        long callBytes = frame.Kind == FrameKind.End ? call.BytesKeptUntilEnd : 0;
        frame.Charge(chargesOwnCalls || call.Id.IsFromAcceptor ? budget : null, callBytes);
        call.Sending.Enqueue(frame);
        EnqueueReady(call);
    }

    /// <summary>Queues a call with queued frames for a turn. If it then lacks credit, it leaves the queue.</summary>
    public void EnqueueReady(ConnectionCall call)
    {
        if (call.Sending.HasQueued && !call.Sending.Is(SendStateFlags.Ready))
        {
            call.Sending.Set(SendStateFlags.Ready);
            _ready.Enqueue(call);
        }
    }

    /// <summary>Queues the call for its control frames: credit or a cancel.</summary>
    public void EnqueueControl(ConnectionCall call)
    {
        if (!call.Sending.Is(SendStateFlags.ControlQueued))
        {
            call.Sending.Set(SendStateFlags.ControlQueued);
            _control.Enqueue(call);
        }
    }

    public void EnqueueGoAway() => _isGoAwayPending = true;

    /// <summary>
    /// Whether no frame of the call except a cancel may be sent. A one-way call that was given up sends nothing more
    /// either: its last frame would complete it, although its user was told that it failed. The check and the write
    /// must happen in one holding of the gate. The first frame of the next call in the slot also needs the gate, so it
    /// cannot come in between. A one-way call that is given up between check and write is still sent.
    /// </summary>
    public static bool IsSendingOver(ConnectionCall call) =>
        call.Sending.Phase >= CallSendPhase.Finished || call.IsEndedByPeer || (call.IsOneWay && call.IsGivenUp);

    /// <summary>Drops the queued frames of a call.</summary>
    public static void Drop(ConnectionCall call)
    {
        while (call.Sending.HasQueued)
        {
            call.Sending.Dequeue().Finish();
        }
    }

    /// <summary>
    /// Removes a call and drops its frames, before a retry on another connection. Returns whether the call was queued.
    /// </summary>
    public bool Remove(ConnectionCall call)
    {
        Drop(call);
        bool wasHere = call.Sending.Is(SendStateFlags.Ready | SendStateFlags.ControlQueued);
        if (call.Sending.Is(SendStateFlags.Ready))
        {
            call.Sending.Set(SendStateFlags.Ready, false);
            RemoveFrom(_ready, call);
        }

        if (call.Sending.Is(SendStateFlags.ControlQueued))
        {
            call.Sending.Set(SendStateFlags.ControlQueued, false);
            RemoveFrom(_control, call);
        }

        return wasHere;
    }

    /// <summary>Clears the queues. Each call drops its own frames when it is notified of the close.</summary>
    public void Clear()
    {
        _control.Clear();
        _ready.Clear();
        _isGoAwayPending = false;
    }

    /// <summary>
    /// Writes the control frames, then up to <see cref="RecordsPerTurn"/> records of calls, while they fit.
    /// </summary>
    public TurnResult WriteTurn()
    {
        if (!TryWriteControl())
        {
            return TurnResult.NoSpace;
        }

        for (int records = 0; records < RecordsPerTurn; records++)
        {
            if (!_ready.TryPeek(out ConnectionCall? call))
            {
                return TurnResult.Idle;
            }

            if (IsSendingOver(call))
            {
                Drop(call);
            }

            WriteResult result = call.Sending.HasQueued ? writer.WriteNext(call) : WriteResult.NoCredit;
            if (result == WriteResult.NoSpace)
            {
                return TurnResult.NoSpace;
            }

            // The next call gets its turn. This one is queued again if it has more to send.
            _ready.Dequeue();
            call.Sending.Set(SendStateFlags.Ready, false);
            if (result == WriteResult.Written)
            {
                EnqueueReady(call);
            }
        }

        return _ready.Count > 0 ? TurnResult.More : TurnResult.Idle;
    }

    // Rotates the whole queue once and keeps its order. Removals are rare.
    private static void RemoveFrom(Queue<ConnectionCall> from, ConnectionCall call)
    {
        for (int left = from.Count; left > 0; left--)
        {
            ConnectionCall next = from.Dequeue();
            if (next != call)
            {
                from.Enqueue(next);
            }
        }
    }

    private bool TryWriteControl()
    {
        if (_isGoAwayPending && !writer.TryWriteGoAway())
        {
            return false;
        }

        _isGoAwayPending = false;
        while (_control.TryPeek(out ConnectionCall? call))
        {
            if (!writer.TryWriteControl(call))
            {
                return false;
            }

            call.Sending.Set(SendStateFlags.ControlQueued, false);
            _control.Dequeue();
        }

        return writer.TryWriteNews();
    }
}

/// <summary>The result of one <see cref="OutboundQueue.WriteTurn"/>.</summary>
internal enum TurnResult
{
    /// <summary>No call waits for its turn.</summary>
    Idle,

    /// <summary>More frames can be sent at once.</summary>
    More,

    /// <summary>The ring is full.</summary>
    NoSpace,
}
