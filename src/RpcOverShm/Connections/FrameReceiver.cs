using System.Runtime.CompilerServices;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Sending;

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
    private readonly Func<OneWayCharge?, ConnectionCall>? _accept; // null if the peer may not start calls
    private readonly Action _onGoAway;
    private readonly int _headLimitBytes;
    private readonly IncomingBounds? _bounds; // null for a client
    private readonly HeadTimer? _headTimer;
    private byte[] _head = new byte[256];

    public FrameReceiver(
        PeerLink link,
        FrameSender sender,
        Func<OneWayCharge?, ConnectionCall>? accept,
        Action onGoAway,
        IncomingBounds? bounds = null)
    {
        _bounds = bounds;
        _headTimer = bounds is null ? null : new HeadTimer(bounds.HeadTimeout);
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

        if ((frame.Flags & FrameFlags.OneWay) != 0)
        {
            return ReceiveOneWay(frame, payload);
        }

        ConnectionCall? call = frame.Call.IsFromAcceptor == _link.IsAcceptor
            ? FindStarted(frame.Call)
            : frame.Kind == FrameKind.CallStart ? Accept(frame.Call) : _incoming.Find(frame.Call);
        if (call is { IsOneWay: true })
        {
            ReceiveRest(call, frame, payload);
        }
        else if (call is not null)
        {
            DispatchToCall(call, frame, payload);
        }

        return call;
    }

    private ConnectionCall FindStarted(CallId id)
    {
        ConnectionCall call = _outgoing.Find(id);

        // A peer that guesses an id must not free a slot that the sender still holds.
        return call.Sending.Phase != CallSendPhase.New && !call.IsOneWay
            ? call
            : throw new ProtocolException($"A frame for call {id}, which was not sent yet or is one-way.");
    }

    private void DispatchToConnection(in FrameHeader frame)
    {
        switch (frame.Kind)
        {
            case FrameKind.GoAway:
                _onGoAway();
                break;
            case FrameKind.Credit:
                _sender.OneWay.AddCredit(frame.Argument);
                break;
            default:
                throw new ProtocolException($"The peer sent {frame.Kind} on a connection for calls.");
        }
    }

    private ConnectionCall Accept(CallId id)
    {
        ConnectionCall call = Accept(charge: null);
        call.Sending.Window = _link.PeerLimits.CallWindow;
        _incoming.Add(id, call);
        return call;
    }

    private ConnectionCall Accept(OneWayCharge? charge)
    {
        if (_accept is null)
        {
            throw new ProtocolException("The peer started a call where none are served.");
        }

        // Nothing is sent for a one-way call.
        ConnectionCall call = _accept(charge);
        call.Sending.Phase = charge is null ? CallSendPhase.Open : CallSendPhase.Finished;
        return call;
    }

    /// <summary>
    /// Receives the start of a one-way call. A whole one is no open call: the peer may reuse its id at once.
    /// </summary>
    private ConnectionCall ReceiveOneWay(in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        OneWayWindow window = _sender.OneWay.Window;
        window.CheckStart();
        var charge = new OneWayCharge(window);
        ConnectionCall call = Accept(charge);
        charge.Take(OneWayCredit.BytesPerCall + payload.Length);
        if ((frame.Flags & FrameFlags.HalfClose) == 0)
        {
            _incoming.Add(frame.Call, call);
            DispatchToCall(call, frame, payload);
            return call;
        }

        _incoming.Pass(frame.Call);
        _incoming.Shut(frame.Call);
        call.Id = frame.Call;
        DispatchToCall(call, frame, payload);
        charge.End();
        return call;
    }

    /// <summary>Receives a later frame of a one-way call, of which the last makes its id free.</summary>
    private void ReceiveRest(ConnectionCall call, in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        bool isSecond = frame.Kind == FrameKind.Message && (frame.Flags & FrameFlags.Single) == 0;
        if (isSecond || frame.Kind is FrameKind.HalfClose or FrameKind.Credit)
        {
            throw new ProtocolException(
                $"A {frame.Kind} of one-way call {call.Id}, which has one message, Single and half-closed.");
        }

        call.OneWay!.Take(payload.Length);
        DispatchToCall(call, frame, payload);
        if ((frame.Flags & FrameFlags.HalfClose) != 0 || frame.Kind == FrameKind.Cancel)
        {
            _sender.OneWay.Forget(call);
            _incoming.Shut(frame.Call);
            call.OneWay.End();
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
        bool isStartedHere = call.Id.IsFromAcceptor == _link.IsAcceptor;
        if (frame.Kind is FrameKind.Headers or FrameKind.End && !isStartedHere)
        {
            throw new ProtocolException($"A {frame.Kind} for call {call.Id} from the side that may not send it.");
        }

        bool isChunk = frame.Kind == FrameKind.HeadChunk;
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
        bool wasTooLarge = head.IsTooLarge;
        if (head.Append(part) is { } full)
        {
            call.OnHeadNotKept(full);
        }
        else if (head.IsTooLarge && !wasTooLarge && head.Kind != FrameKind.End && head.Drop())
        {
            // The call fails now, because the rest may never come. An End counts when it is whole: until then its call
            // keeps its slot.
            call.OnHeadTooLarge(head.Kind);
        }
    }

    private HeadAssembly BeginHead(ConnectionCall call, in FrameHeader frame)
    {
        var head = new HeadAssembly(frame.Kind, frame.Flags, _headLimitBytes, _bounds?.Budget);
        _headTimer?.Add(call, head);
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
                call.OnHeadTooLarge(head.Kind);
            }
        }
    }

    /// <summary>Stops the timer of heads, after the connection's calls have ended.</summary>
    public void Close() => _headTimer?.Dispose();

    // The peer has ended the call and sends nothing more for it.
    private void FreeSlot(ConnectionCall call)
    {
        call.MarkEndedByPeer();
        _outgoing.Remove(call);
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
