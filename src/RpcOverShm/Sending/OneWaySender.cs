using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// Sends the one-way calls of one connection, as far as the peer's credit for them goes, and the credit for the peer's
/// own. Such a call has its id only until its last frame is in the ring: nothing comes back. Never waits; a call
/// without credit gets a turn.
/// </summary>
internal sealed class OneWaySender
{
    private const FrameFlags Whole = FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose;

    private readonly PeerLink _link;
    private readonly FramePublisher _publisher;
    private readonly OutboundQueue _queue;
    private readonly OutboundPump _pump;
    private readonly OutgoingCalls _outgoing;
    private readonly IncomingCalls _incoming;
    private readonly OneWayCredit _credit;
    private long _sent;

    public OneWaySender(
        PeerLink link,
        FramePublisher publisher,
        FrameWriter writer,
        OutboundQueue queue,
        OutboundPump pump,
        OutgoingCalls outgoing,
        IncomingCalls incoming)
    {
        _link = link;
        _publisher = publisher;
        _queue = queue;
        _pump = pump;
        _outgoing = outgoing;
        _incoming = incoming;
        _credit = new OneWayCredit(link.PeerLimits.CallWindow);
        Window = new OneWayWindow(link.OwnLimits.CallWindow, Grant);
        writer.OnOneWaySent = OnSent;
        writer.OnOneWayCancelled = _outgoing.RemoveSent;
    }

    /// <summary>The window of the peer's one-way calls: what they may make this side keep.</summary>
    public OneWayWindow Window { get; }

    /// <summary>The number of calls sent so far: they leave no trace in the counts of living calls.</summary>
    public long Sent => Volatile.Read(ref _sent);

    /// <summary>Whether calls wait for credit, which somebody must read.</summary>
    public bool HasTurns => _credit.HasTurns;

    /// <summary>
    /// Sends a call with its request, which comes as <paramref name="large"/> if it does not fit into the first frame.
    /// The call is in the ring if <see cref="ConnectionCall.IsAllSent"/> is true afterwards; else
    /// <see cref="ConnectionCall.OnSentOneWay"/> tells when. On <see cref="StartResult.NoCredit"/> the call has a turn:
    /// the caller tries again when that is due, or calls <see cref="Leave"/>. After any other result it has none.
    /// </summary>
    public StartResult Start(
        ConnectionCall call,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> message,
        PooledBufferWriter? large,
        ref OneWayTurn? turn)
    {
        if (large is { IsBorrowed: true })
        {
            large.Own();
        }

        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            // A leaving peer would drop the call, and nobody would learn of it.
            StartResult result = scope.IsRetired || _link.IsPeerLeaving
                ? StartResult.Closed
                : call.Sending.Phase == CallSendPhase.Finished
                    ? StartResult.GivenUp
                    : TryAdd(call, ref turn);
            if (result == StartResult.NoCredit)
            {
                return result;
            }

            if (result == StartResult.Started)
            {
                _credit.Take(OneWayCredit.BytesPerCall + head.Length + message.Length + (large?.Length ?? 0));
                Write(call, head, message, large);
                scope.PublishOrDefer();
            }

            _credit.Leave(turn);
            turn = null;
            if (result != StartResult.Started || call.IsAllSent)
            {
                return result;
            }
        }

        _pump.SendReady(call);
        return StartResult.Started;
    }

    /// <summary>Ends the turn of a call that has ended while it waited.</summary>
    public void Leave(OneWayTurn turn)
    {
        using FramePublisher.Scope scope = _publisher.Enter();
        _credit.Leave(turn);
    }

    /// <summary>Lets all waiting calls try again: they find that the connection takes no more calls.</summary>
    public void WakeAll()
    {
        // Under the gate, so that a call which gets its turn meanwhile is woken, or sees that the peer leaves.
        using FramePublisher.Scope scope = _publisher.Enter();
        _credit.WakeAll();
    }

    /// <summary>Adds credit from the peer. The caller holds the reader role.</summary>
    /// <exception cref="ProtocolException">The peer gives more than was used.</exception>
    public void AddCredit(uint bytes)
    {
        using FramePublisher.Scope scope = _publisher.Enter();
        _credit.Add(bytes);
    }

    /// <summary>
    /// Takes the credit back for the frames of a call that will not be sent. The caller holds the gate and drops them
    /// afterwards.
    /// </summary>
    public void GiveBack(ConnectionCall call, bool isStarted)
    {
        long bytes = call.Sending.UnsentBytes;
        if (bytes > 0)
        {
            _credit.GiveBack(isStarted ? bytes : bytes + OneWayCredit.BytesPerCall);
        }
    }

    /// <summary>Removes a call of the peer, whose request has come whole or will not.</summary>
    public void Forget(ConnectionCall call)
    {
        using FramePublisher.Scope scope = _publisher.Enter();
        _incoming.Remove(call);
    }

    // Under the gate.
    private StartResult TryAdd(ConnectionCall call, ref OneWayTurn? turn) =>
        !_credit.MayStart(call.Waiter is not null, ref turn) ? StartResult.NoCredit
        : _outgoing.TryAdd(call) ? StartResult.Started
        : StartResult.TooManyCalls;

    // Under the gate.
    private void Write(
        ConnectionCall call, ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, PooledBufferWriter? large)
    {
        bool isSent =
            _queue.TryWriteOrQueue(call, FrameKind.CallStart, large is null ? Whole : FrameFlags.OneWay, head, message);
        if (large is not null)
        {
            byte[] bytes = large.Detach(out int length);
            _queue.Enqueue(
                call,
                new OutboundFrame(FrameKind.Message, FrameFlags.Single | FrameFlags.HalfClose, bytes, length));
        }
        else if (isSent)
        {
            End(call);
        }
    }

    // Under the gate.
    private void OnSent(ConnectionCall call)
    {
        End(call);
        call.OnSentOneWay();
    }

    // Under the gate.
    private void End(ConnectionCall call)
    {
        call.IsAllSent = true;
        call.Sending.Phase = CallSendPhase.Finished;
        _outgoing.RemoveSent(call);
        Volatile.Write(ref _sent, _sent + 1);
    }

    private void Grant(long bytes)
    {
        using (FramePublisher.Scope scope = _publisher.Enter())
        {
            if (scope.IsClosed)
            {
                return;
            }

            _queue.EnqueueOneWayCredit(bytes);
        }

        _pump.SendReady();
    }
}
