using System.Runtime.CompilerServices;
using RpcOverShm.Buffers;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Connections;

/// <summary>
/// Receives the frames of one connection: reads a record, validates it as a frame, dispatches it to its call, which
/// copies what it needs, and releases the record's space to the peer. Only the holder of the reader role may call.
/// Every exception ends the connection.
/// </summary>
internal sealed partial class FrameReceiver
{
    // The maximum size of a head without its metadata. Method, host, codec and encoding have less than 64 KiB each, so
    // only a head with all four at that size has more.
    private const int HeadBesidesMetadataBytes = 256 << 10;

    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly FrameSender _sender;
    private readonly OutgoingCalls _outgoing;
    private readonly IncomingCalls _incoming;
    private readonly Func<bool, ConnectionCall>? _accept; // null if the peer may not start calls
    private readonly Action _onGoAway;
    private readonly int _headLimitBytes;
    private readonly IncomingBounds? _bounds; // null if the peer may not start calls
    private byte[] _head = new byte[256];

    public FrameReceiver(
        PeerLink link,
        FrameSender sender,
        Func<bool, ConnectionCall>? accept,
        Action onGoAway,
        IncomingBounds? bounds = null)
    {
        _bounds = bounds;
        _link = link;
        _ring = link.Reader;
        _sender = sender;
        _outgoing = sender.Outgoing;
        _incoming = sender.Incoming;
        _accept = accept;
        _onGoAway = onGoAway;
        _headLimitBytes = (int)link.OwnLimits.MaxMetadataBytes + HeadBesidesMetadataBytes;
    }

    /// <summary>Whether the peer may start calls.</summary>
    public bool IsServing => _accept is not null;

    /// <summary>
    /// The call whose End frame is being handled; null for none. If the call throws, because the frame violates the
    /// protocol or memory is short, the slot is already free and no table has the call, but it must still be notified
    /// of the close. Holder of the reader role only.
    /// </summary>
    public ConnectionCall? EndingCall { get; private set; }

    /// <summary>
    /// Receives the next record. Returns false if there is none. The call is null if the frame belongs to no active
    /// call.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryReceive(out ConnectionCall? call)
    {
        if (!_link.TryReadFrame(out FrameHeader frame, out ReadOnlySpan<byte> payload))
        {
            call = null;
            return false;
        }

        call = Dispatch(frame, payload);
        if (_ring.Release() is not WakeMethods.None and var wakeMethods)
        {
            _link.WakePeerForSpace(wakeMethods);
        }

        return true;
    }

    /// <summary>
    /// Releases the buffer for heads. Methods of one-way calls may keep this object alive long after the connection.
    /// </summary>
    public void Close() => _head = [];

    private ConnectionCall? Dispatch(in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        if (frame.Call.IsNone)
        {
            if (frame.Kind == FrameKind.GoAway)
            {
                _onGoAway();
            }
            else
            {
                ReceiveNews(frame, payload);
            }

            return null;
        }

        ConnectionCall? call = frame.Call.IsFromAcceptor == _link.IsAcceptor
            ? FindOutgoing(frame)
            : frame.Kind == FrameKind.CallStart ? Accept(frame, payload.Length) : FindIncoming(frame, payload.Length);
        if (call is { IsOneWay: true } && frame.Call.IsFromAcceptor != _link.IsAcceptor)
        {
            ReceiveOneWay(call, frame, payload);
        }
        else if (call is not null)
        {
            DispatchToCall(call, frame, payload);
        }
        else
        {
            DropLate(frame, payload);
        }

        return call;
    }

    private ConnectionCall FindOutgoing(in FrameHeader frame)
    {
        ConnectionCall call = _outgoing.Find(frame.Call);

        // A peer that guesses an id must not end a call whose first frame was not sent: the sender still uses the slot,
        // or frees it itself. No call leaves these phases but by its first frame.
        if (call.Sending.Phase is CallSendPhase.New or CallSendPhase.Withdrawn)
        {
            throw new ProtocolException($"A frame for call {frame.Call}, which was not sent yet.");
        }

        if (call.IsOneWay
            && (frame.Kind is not (FrameKind.End or FrameKind.HeadChunk) || (frame.Flags & FrameFlags.HasMessage) != 0))
        {
            throw new ProtocolException(
                $"The peer sent {frame.Kind} for one-way call {frame.Call}. The response to such a call "
                + "is an End without a message.");
        }

        return call;
    }

    private ConnectionCall? FindIncoming(in FrameHeader frame, int payloadBytes)
    {
        ConnectionCall? call = _incoming.Find(frame.Call);
        if (call is { IsOneWay: true })
        {
            CheckOneWayFrame(call, frame);
            _sender.AddOneWayCost(call, payloadBytes);
        }

        return call;
    }

    private ConnectionCall Accept(in FrameHeader frame, int payloadBytes)
    {
        if (_accept is null)
        {
            throw new ProtocolException("The peer started a call, but this side serves no calls.");
        }

        bool isOneWay = (frame.Flags & FrameFlags.OneWay) != 0;
        ConnectionCall call = _accept(isOneWay);
        call.Sending.Phase = CallSendPhase.Open;
        if (isOneWay)
        {
            _incoming.AddOneWay(frame.Call, call, payloadBytes);
        }
        else
        {
            call.Sending.Credit = _link.PeerLimits.CallWindow;
            _incoming.Add(frame.Call, call);
        }

        return call;
    }

    private void DispatchToCall(ConnectionCall call, in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        // Only the side that started a call may half-close it. The other side ends its messages with an End frame,
        // which has a status.
        if ((frame.Flags & FrameFlags.HalfClose) != 0 && call.Id.IsFromAcceptor == _link.IsAcceptor)
        {
            throw new ProtocolException(
                $"The peer sent a half-close of call {call.Id}, which only this side may send.");
        }

        if (call.PartialHead is not null
            && frame.Kind is FrameKind.Message or FrameKind.MessageChunk or FrameKind.Handles)
        {
            throw new ProtocolException($"The peer sent a {frame.Kind} of call {call.Id} in the middle of its head.");
        }

        switch (frame.Kind)
        {
            case FrameKind.Message when (frame.Flags & FrameFlags.Loaned) != 0:
                call.OnLoanedMessage(Borrow(frame, payload), payload.Length, frame.Flags);
                break;
            case FrameKind.Message:
                call.OnMessage(frame.Argument, payload, frame.Flags);
                break;
            case FrameKind.MessageChunk:
                call.OnMessageChunk(payload, frame.Flags);
                break;
            case FrameKind.HalfClose:
                call.OnHalfClose();
                break;
            case FrameKind.Credit:
                _sender.AddCredit(call, frame.Argument);
                break;
            case FrameKind.Cancel:
                call.OnCancel();
                break;
            case FrameKind.TopicStart or FrameKind.TopicEnd or FrameKind.TopicRead:
                ReceiveOfTopic(call, frame.Kind, payload);
                break;
            case FrameKind.Handles:
                call.OnHandles(NameHandles(payload));
                break;
            default:
                ReceiveHead(call, frame, payload);
                break;
        }
    }

    private void ReceiveHead(ConnectionCall call, in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        // The side that makes a call starts it; the other side sends its metadata and its end.
        bool isChunk = frame.Kind == FrameKind.HeadChunk;
        bool isStartedHere = call.Id.IsFromAcceptor == _link.IsAcceptor;
        if (!isChunk && (frame.Kind == FrameKind.CallStart) == isStartedHere)
        {
            throw new ProtocolException(
                $"The peer sent {frame.Kind} for call {call.Id}, which only this side may send.");
        }

        if (isChunk != call.PartialHead is not null)
        {
            throw new ProtocolException(
                $"The peer sent {frame.Kind} for call {call.Id} "
                + (isChunk ? "that continues no head." : "while a head was incomplete."));
        }

        bool isContinued = (frame.Flags & FrameFlags.HeadContinues) != 0;
        if (!isChunk && !isContinued)
        {
            ReadOnlySpan<byte> head = CopyHead(payload[..frame.HeadLength]);
            DeliverHead(call, frame.Kind, frame.Flags, head, payload[frame.HeadLength..]);
            return;
        }

        HeadAssembly assembly = call.PartialHead ??= BeginHead(call, frame);
        Append(call, assembly, payload);
        if (!isContinued)
        {
            EndHead(call, assembly);
        }
    }

    private static void Append(ConnectionCall call, HeadAssembly head, ReadOnlySpan<byte> part)
    {
        if (head.Append(part))
        {
            return;
        }

        // The call fails now, because the rest of the head may never arrive. An End beyond the limit takes effect when
        // it is complete: until then its call keeps its slot.
        if (head.Exceeded is { } full)
        {
            call.OnHeadOverBudget(full);
        }
        else if (head.Kind != FrameKind.End && head.Discard())
        {
            call.OnHeadTooLarge(head.Kind);
        }
    }

    private HeadAssembly BeginHead(ConnectionCall call, in FrameHeader frame)
    {
        var head = new HeadAssembly(frame.Kind, frame.Flags, _headLimitBytes, _bounds?.BufferBudget);
        if (_bounds is not null && frame.Kind == FrameKind.CallStart)
        {
            // Only a request has a time limit here. A response is bounded by the deadline of its call, if there is one.
            head.DropAfter(_bounds.HeadTimeout, call.OnHeadTimedOut);
        }

        return head;
    }

    private void EndHead(ConnectionCall call, HeadAssembly head)
    {
        call.PartialHead = null;
        bool isDropped = !head.TryEnd();
        using (isDropped ? null : head)
        {
            if (!isDropped && !head.IsTooLarge)
            {
                DeliverHead(call, head.Kind, head.Flags & ~FrameFlags.HeadContinues, head.Bytes, default);
            }
            else if (head.Kind == FrameKind.End)
            {
                FreeSlot(call);
                if (head.IsTooLarge)
                {
                    call.OnHeadTooLarge(head.Kind);
                }
                else
                {
                    call.OnEndDropped(head.Exceeded);
                }

                EndingCall = null;
            }
        }
    }

    // The peer has ended the call and sends nothing more for it. If the call then throws instead of taking its end,
    // EndingCall keeps it until it is notified of the close.
    private void FreeSlot(ConnectionCall call)
    {
        EndingCall = call;
        call.MarkEndedByPeer();
        _outgoing.Remove(call);
        if (!call.IsOneWay && _sender.OneWayCalls.HasWaiters)
        {
            _sender.WakeOneWay(onlyIfHalfFree: true); // the first waiting one-way call may wait for this slot
        }
    }

    // A head is copied before parsing, because the peer could change it meanwhile. Calls copy their messages.
    private ReadOnlySpan<byte> CopyHead(ReadOnlySpan<byte> head)
    {
        if (head.Length > _head.Length)
        {
            _head = new byte[head.Length];
        }

        head.CopyTo(_head);
        return _head.AsSpan(0, head.Length);
    }

    private void DeliverHead(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> message)
    {
        switch (kind)
        {
            case FrameKind.CallStart:
                call.OnStart(head, message, flags);
                break;
            case FrameKind.Headers:
                call.OnHeaders(head);
                break;
            case FrameKind.End:
                // The slot is freed first, because a caller that sees the End may start its next call at once.
                FreeSlot(call);
                call.OnEnd(head, message, flags);
                EndingCall = null;
                break;
            default:
                throw new ProtocolException(
                    $"The peer sent a head in a {kind} frame. Only CallStart, Headers and End have one.");
        }
    }
}

/// <summary>Bounds what the peer of a connection that accepts calls can make this side keep.</summary>
/// <param name="BufferBudget">Counts the bytes of requests, of incomplete heads and of unsent frames.</param>
/// <param name="HeadTimeout">The time for the head of a request that comes in several records.</param>
internal sealed record IncomingBounds(BufferBudget BufferBudget, TimeSpan HeadTimeout);
