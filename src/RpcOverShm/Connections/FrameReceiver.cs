using System.Runtime.CompilerServices;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Connections;

/// <summary>
/// Receives the frames of one connection: reads a record, validates it as a frame, dispatches it to its call, which
/// copies what it needs, and releases the record's space to the peer. Only the holder of the reader role may call.
/// Every exception ends the connection.
/// </summary>
internal sealed class FrameReceiver
{
    // The parts of a head besides its metadata: method, host, codec and status detail, each shorter than 64 KiB.
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
    /// A call whose End frame violated the protocol; null for none. Its slot is free, so no table has it, but it still
    /// has to hear of the end of the connection. Only the holder of the reader role may read it.
    /// </summary>
    public ConnectionCall? Ending { get; private set; }

    /// <summary>
    /// Receives the next record. Returns false if there is none. The call is null for a frame of no living call.
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
        Doorbell doorbell = _ring.Release();
        if (doorbell != Doorbell.None)
        {
            _link.WakePeerForSpace(doorbell);
        }

        return true;
    }

    private ConnectionCall? Dispatch(in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        if (frame.Call.IsNone)
        {
            DispatchToConnection(frame);
            return null;
        }

        ConnectionCall? call = frame.Call.IsFromAcceptor == _link.IsAcceptor
            ? FindStarted(frame)
            : frame.Kind == FrameKind.CallStart ? Accept(frame, payload.Length) : FindAccepted(frame, payload.Length);
        if (call is { IsOneWay: true } && frame.Call.IsFromAcceptor != _link.IsAcceptor)
        {
            ReceiveOneWay(call, frame, payload);
        }
        else if (call is not null)
        {
            DispatchToCall(call, frame, payload);
        }

        return call;
    }

    private ConnectionCall FindStarted(in FrameHeader frame)
    {
        ConnectionCall call = _outgoing.Find(frame.Call);

        // A peer that guesses an id must not free a slot that the sender still holds.
        if (call.Sending.Phase == CallSendPhase.New)
        {
            throw new ProtocolException($"A frame for call {frame.Call}, which was not sent yet.");
        }

        if (call.IsOneWay
            && (frame.Kind is not (FrameKind.End or FrameKind.HeadChunk) || (frame.Flags & FrameFlags.HasMessage) != 0))
        {
            throw new ProtocolException(
                $"A {frame.Kind} of one-way call {frame.Call}, which is answered by an End without a message.");
        }

        return call;
    }

    private ConnectionCall? FindAccepted(in FrameHeader frame, int payloadBytes)
    {
        ConnectionCall? call = _incoming.Find(frame.Call);
        if (call is { IsOneWay: true })
        {
            CheckRest(call, frame);
            _sender.CountOneWay(call, payloadBytes);
        }

        return call;
    }

    private void DispatchToConnection(in FrameHeader frame)
    {
        switch (frame.Kind)
        {
            case FrameKind.GoAway:
                _onGoAway();
                break;
            default:
                throw new ProtocolException($"The peer sent {frame.Kind} on a connection for calls.");
        }
    }

    private ConnectionCall Accept(in FrameHeader frame, int payloadBytes)
    {
        if (_accept is null)
        {
            throw new ProtocolException("The peer started a call where none are served.");
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
            call.Sending.Window = _link.PeerLimits.CallWindow;
            _incoming.Add(frame.Call, call);
        }

        return call;
    }

    /// <summary>Receives a frame of a one-way call of the peer, of which no frame may follow the last.</summary>
    private void ReceiveOneWay(ConnectionCall call, in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        bool isWhole = (frame.Flags & FrameFlags.HalfClose) != 0;
        call.SetRequestComplete(isWhole); // before the method begins, which may report its failure
        try
        {
            DispatchToCall(call, frame, payload);
        }
        catch
        {
            call.SetRequestComplete(false); // The last frame is a violation, so the call ends with the connection.
            throw;
        }

        if (isWhole || frame.Kind == FrameKind.Cancel)
        {
            _incoming.Shut(call.Id);
        }
    }

    /// <summary>Checks the kind of a later frame of a one-way call.</summary>
    private static void CheckRest(ConnectionCall call, in FrameHeader frame)
    {
        bool isSecond = frame.Kind == FrameKind.Message && (frame.Flags & FrameFlags.Single) == 0;
        if (isSecond || frame.Kind is FrameKind.HalfClose or FrameKind.Credit)
        {
            throw new ProtocolException(
                $"A {frame.Kind} of one-way call {call.Id}, which has one message, Single and half-closed.");
        }
    }

    private void DispatchToCall(ConnectionCall call, in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        // The side that serves a call ends it with an End: a half-close would end its messages without an outcome.
        if ((frame.Flags & FrameFlags.HalfClose) != 0 && call.Id.IsFromAcceptor == _link.IsAcceptor)
        {
            throw new ProtocolException($"A half-close of call {call.Id} from the side that may not send it.");
        }

        switch (frame.Kind)
        {
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
            throw new ProtocolException($"A {frame.Kind} for call {call.Id} from the side that may not send it.");
        }

        if (isChunk != call.PartialHead is not null)
        {
            throw new ProtocolException($"A {frame.Kind} for call {call.Id} in the wrong place.");
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

        // The call fails now, because the rest may never come. An End beyond the limit counts when it is whole: until
        // then its call keeps its slot.
        if (head.Full is { } full)
        {
            call.OnHeadNotKept(full);
        }
        else if (head.Kind != FrameKind.End && head.Drop())
        {
            call.OnHeadTooLarge(head.Kind);
        }
    }

    private HeadAssembly BeginHead(ConnectionCall call, in FrameHeader frame)
    {
        var head = new HeadAssembly(frame.Kind, frame.Flags, _headLimitBytes, _bounds?.Budget);
        if (_bounds is not null && frame.Kind == FrameKind.CallStart)
        {
            head.DropAfter(_bounds.HeadTimeout, call.OnHeadLate); // An answer has the deadline of its call.
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
                    call.OnEndDropped(head.Full);
                }
            }
        }
    }

    /// <summary>Drops the last head, after the connection's calls have ended.</summary>
    public void Close() => _head = []; // The methods of one-way calls may keep the connection for long.

    // The peer has ended the call and sends nothing more for it.
    private void FreeSlot(ConnectionCall call)
    {
        call.MarkEndedByPeer();
        _outgoing.Remove(call);
        if (!call.IsOneWay && _sender.OneWay.HasTurns)
        {
            _sender.WakeOneWay(isHalfFree: true); // It may wait for a slot.
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
                // The slot is freed first, because a caller that sees the end may start its next call at once. If OnEnd
                // throws for an invalid end, Ending keeps the call, which must still hear of the end of the connection.
                Ending = call;
                FreeSlot(call);
                call.OnEnd(head, message, flags);
                Ending = null;
                break;
            default:
                throw new ProtocolException($"A head of kind {kind}.");
        }
    }
}
