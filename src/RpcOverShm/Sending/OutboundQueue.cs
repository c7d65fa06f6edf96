using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// What waits to be sent on one connection, and in which order: what calls owe the peer (credit, cancels, the go-away)
/// before everything else, then the calls in turns, one record each. Used under the sender's gate only.
/// </summary>
internal sealed class OutboundQueue(FrameWriter writer)
{
    // How much one holding of the gate may copy before others get a chance.
    private const int RecordsPerTurn = 4;

    private readonly Queue<ConnectionCall> _control = new(); // calls that owe the peer credit or a cancel
    private readonly Queue<ConnectionCall> _ready = new();   // calls with a frame that has credit, or needs none
    private bool _isGoAwayPending;

    /// <summary>Whoever waits goes first; a frame of a call that waits itself goes behind it.</summary>
    public bool CanGoNow(ConnectionCall call) => _ready.Count == 0 && !call.Sending.HasQueued;

    /// <summary>
    /// Writes a frame now if it is its turn and it fits, else queues a copy. True when it is in the ring.
    /// </summary>
    public bool TryWriteOrQueue(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        if (CanGoNow(call) && writer.TryWriteWhole(call, kind, flags, head, body))
        {
            return true;
        }

        Enqueue(call, OutboundFrame.Copy(kind, flags, head, body));
        return false;
    }

    /// <summary>Queues a frame behind what the call has queued.</summary>
    public void Enqueue(ConnectionCall call, OutboundFrame frame)
    {
        call.Sending.Enqueue(frame);
        EnqueueCredit(call);
    }

    /// <summary>The call has credit, or a frame that needs none: it gets its turn.</summary>
    public void EnqueueCredit(ConnectionCall call)
    {
        if (call.Sending.HasQueued && !call.Sending.IsReady)
        {
            call.Sending.IsReady = true;
            _ready.Enqueue(call);
        }
    }

    /// <summary>The call owes the peer credit or a cancel.</summary>
    public void EnqueueDebt(ConnectionCall call)
    {
        if (!call.Sending.IsInControl)
        {
            call.Sending.IsInControl = true;
            _control.Enqueue(call);
        }
    }

    public void EnqueueGoAway() => _isGoAwayPending = true;

    /// <summary>
    /// True when nothing more of the call may be sent. To be looked at under the gate, which whoever takes over the
    /// call's slot has to pass as well, and not before.
    /// </summary>
    public static bool IsOver(ConnectionCall call) =>
        call.Sending.Phase == CallSendPhase.Finished || call.IsEndedByPeer;

    /// <summary>Drops what a call has queued.</summary>
    public static void Drop(ConnectionCall call)
    {
        while (call.Sending.HasQueued)
        {
            call.Sending.Dequeue().Finish();
        }
    }

    /// <summary>
    /// Takes out a call that is to be sent elsewhere, and drops what it has queued. True when it stood here.
    /// </summary>
    public bool Remove(ConnectionCall call)
    {
        Drop(call);
        bool wasHere = call.Sending.IsReady || call.Sending.IsInControl;
        if (call.Sending.IsReady)
        {
            call.Sending.IsReady = false;
            TakeOut(_ready, call);
        }

        if (call.Sending.IsInControl)
        {
            call.Sending.IsInControl = false;
            TakeOut(_control, call);
        }

        return wasHere;
    }

    /// <summary>Forgets who waits. The calls drop their frames themselves, when they hear of the end.</summary>
    public void Clear()
    {
        _control.Clear();
        _ready.Clear();
        _isGoAwayPending = false;
    }

    /// <summary>Copies up to one turn's worth into the ring.</summary>
    public TurnResult WriteTurn()
    {
        if (!TryWriteDebts())
        {
            return TurnResult.NoSpace;
        }

        for (int records = 0; records < RecordsPerTurn; records++)
        {
            if (!_ready.TryPeek(out ConnectionCall? call))
            {
                return TurnResult.Idle;
            }

            if (IsOver(call))
            {
                Drop(call);
            }

            WriteResult outcome = call.Sending.HasQueued ? writer.WriteNext(call) : WriteResult.NoCredit;
            if (outcome == WriteResult.NoSpace)
            {
                return TurnResult.NoSpace;
            }

            // The next call gets its turn; this one comes back if it has more to send and may.
            _ready.Dequeue();
            call.Sending.IsReady = false;
            if (outcome == WriteResult.Written)
            {
                EnqueueCredit(call);
            }
        }

        return _ready.Count > 0 ? TurnResult.More : TurnResult.Idle;
    }

    // Goes through all that wait, whose order stays: hardly ever is there a call to be taken out.
    private static void TakeOut(Queue<ConnectionCall> from, ConnectionCall call)
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

    private bool TryWriteDebts()
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

            call.Sending.IsInControl = false;
            _control.Dequeue();
        }

        return true;
    }
}

/// <summary>How a turn at the ring ended.</summary>
internal enum TurnResult
{
    /// <summary>Nothing waits that could go on.</summary>
    Idle,

    /// <summary>More can go on at once.</summary>
    More,

    /// <summary>The ring is full.</summary>
    NoSpace,
}
