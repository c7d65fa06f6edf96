using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Connections;

/// <summary>
/// Writes frames as records: one if the frame fits, several for a larger message or head. Updates each call's credit
/// and phase. Used under the sender's gate only. Never waits and never wakes the peer.
/// </summary>
internal sealed partial class FrameWriter(PeerLink link, IncomingCalls incoming)
{
    /// <summary>The maximum bytes of a message per record. A part and its copy both stay in the L2 cache.</summary>
    public const int MaxPartBytes = 32 << 10;

    /// <summary>The credit that each message record costs besides its bytes, so empty messages are not free.</summary>
    public const int CreditPerRecord = RecordHeader.SizeBytes;

    // A smaller part of a message is not worth a record, because more credit is on its way.
    private const int MinPartBytes = 1 << 10;

    // Records are published early once this many bytes are unpublished: the peer then reads while the rest is copied.
    private const int PublishBytes = 4 << 10;

    private readonly RingWriter _ring = link.Writer;
    private WakeMethods _wakeMethods; // for records that are published already
    private List<ConnectionCall>? _toQueue;

    /// <summary>The exception for an invalid ring head of the peer, which closes the link; null if none.</summary>
    public RingCorruptedException? Corruption { get; private set; }

    /// <summary>Takes the calls whose user code is queued after the gate was released, as that may be slow.</summary>
    public List<ConnectionCall>? TakeCallsToQueue()
    {
        (List<ConnectionCall>? calls, _toQueue) = (_toQueue, null);
        return calls;
    }

    /// <summary>The maximum payload of one record, in bytes.</summary>
    public int MaxPayloadBytes => _ring.MaxPayloadBytes;

    private int MaxHeadBytes => Math.Min(_ring.MaxPayloadBytes, ushort.MaxValue);

    /// <summary>
    /// Writes a frame of any kind but Message and MessageChunk, with its body if it has one, as one record. Returns
    /// false, without effect, if it does not fit.
    /// </summary>
    public bool TryWriteWhole(
        ConnectionCall call, FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        if (head.Length + body.Length > _ring.MaxPayloadBytes
            || head.Length > MaxHeadBytes
            || !TryWrite(call.Id, kind, flags, head, body, 0, isControl: kind == FrameKind.HalfClose))
        {
            return false;
        }

        SetPhase(call, kind, isLast: true);
        if (kind == FrameKind.CallStart)
        {
            call.IsRequestKnownComplete = (flags & FrameFlags.HalfClose) != 0;
        }

        PublishIfLarge();
        return true;
    }

    /// <summary>
    /// Writes a message, or the rest of a partly sent one, as one record. Returns false, without effect, if it needs
    /// more than one record or does not fit now.
    /// </summary>
    public bool TryWriteMessage(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> message) =>
        GetNextRecordLength(call, flags, message.Length) == message.Length
        && TryWriteMessageRecord(call, flags, message, message.Length, isLast: true);

    /// <summary>Writes the next record of an incomplete message. Returns the number of bytes written, or 0.</summary>
    public int WritePart(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        int length = GetNextRecordLength(call, flags, part.Length);
        return length > 0 && TryWriteMessageRecord(call, flags, part[..length], wholeLength, isLast: false)
            ? length
            : 0;
    }

    /// <summary>Writes the next record of the call's first queued frame. Dequeues the frame after its last.</summary>
    public WriteResult WriteNext(ConnectionCall call)
    {
        OutboundFrame frame = call.Sending.First!;
        WriteResult result = frame.Kind == FrameKind.Message
            ? WriteMessagePart(call, frame)
            : WriteHeadPart(call, frame);
        if (result == WriteResult.Written && frame.IsSent)
        {
            call.Sending.Dequeue();
            Finish(call, frame);
            if (call.IsOneWay && (frame.Flags & FrameFlags.HalfClose) != 0)
            {
                call.IsRequestKnownComplete = true;
                call.OnOneWaySent();
            }
        }

        return result;
    }

    /// <summary>
    /// Writes the control frames that a call owes the peer: a cancel, after a pending half-close, or credit. Returns
    /// false if the ring is full.
    /// </summary>
    public bool TryWriteControl(ConnectionCall call)
    {
        ref CallSendState sending = ref call.Sending;
        if (call.IsEndedByPeer)
        {
            sending.Set(SendStateFlags.HalfClosePending | SendStateFlags.CancelPending, false);
            sending.UnsentGrant = 0;
            return true;
        }

        if (sending.Is(SendStateFlags.HalfClosePending) && !TryWriteControl(call.Id, FrameKind.HalfClose))
        {
            return false;
        }

        sending.Set(SendStateFlags.HalfClosePending, false);
        if (sending.Is(SendStateFlags.CancelPending))
        {
            if (!TryWriteControl(call.Id, FrameKind.Cancel))
            {
                return false;
            }

            sending.Set(SendStateFlags.CancelPending, false);
            sending.UnsentGrant = 0;
        }

        if (sending.UnsentGrant > 0 && sending.Phase == CallSendPhase.Open)
        {
            if (!TryWriteControl(call.Id, FrameKind.Credit, sending.UnsentGrant))
            {
                return false;
            }

            sending.UnsentGrant = 0;
        }

        return true;
    }

    public bool TryWriteGoAway() => TryWriteControl(CallId.None, FrameKind.GoAway);

    /// <summary>Publishes all written records. Returns how the peer must be woken after leaving the gate.</summary>
    public WakeMethods Publish()
    {
        if (_ring.HasUnpublished)
        {
            // CRASH record-written: the ring contains records that the tail does not cover. The peer never sees them.
            CrashPoint.Reach(CrashPoint.RecordWritten);
            _wakeMethods |= _ring.Publish();

            // CRASH tail-published: the peer may sleep without a wake-up. The end of the socket wakes it, and it reads
            // the records.
            CrashPoint.Reach(CrashPoint.TailPublished);
        }

        return TakeWakeUp();
    }

    /// <summary>
    /// Returns how the peer must be woken for records already published, and resets that. The caller wakes it after
    /// leaving the gate.
    /// </summary>
    public WakeMethods TakeWakeUp()
    {
        WakeMethods wakeMethods = _wakeMethods;
        _wakeMethods = WakeMethods.None;
        return wakeMethods;
    }

    /// <summary>
    /// Parks this side until the peer releases space and wakes the event loop. Returns false if there may be space now;
    /// see <see cref="RingWriter.ParkForSpace"/>.
    /// </summary>
    public bool TryParkForSpace()
    {
        bool isParked = false;
        try
        {
            isParked = _ring.ParkForSpace(WakeMethods.Doorbell) is not null;
        }
        catch (RingCorruptedException exception)
        {
            Corruption = exception;
        }

        if (isParked)
        {
            ProcessCounts.RingStalls.Add();
        }
        else
        {
            _ring.UnparkForSpace();
        }

        return isParked;
    }

    public void UnparkForSpace() => _ring.UnparkForSpace();

    /// <summary>
    /// Whether the peer has released much space since this side parked; see <see cref="RingWriter.HasSpaceHint"/>.
    /// </summary>
    public bool HasSpaceHint => _ring.HasSpaceHint;

    private void Finish(ConnectionCall call, OutboundFrame frame)
    {
        bool isSentByReader = call.Sending.Is(SendStateFlags.ReaderSends);
        if (!isSentByReader && !call.RunsOnBlockedThread)
        {
            frame.Finish();
        }
        else if (frame.FinishWithoutWake())
        {
            call.OnWritten(frame);
            if (!isSentByReader)
            {
                (_toQueue ??= []).Add(call); // all threads of the pool may be blocked, so the blocked caller runs this
            }
        }
    }

    private WriteResult WriteMessagePart(ConnectionCall call, OutboundFrame frame)
    {
        ReadOnlySpan<byte> rest = frame.Rest;
        int length = GetNextRecordLength(call, frame.Flags, rest.Length);
        if (length < 0)
        {
            return WriteResult.NoCredit;
        }

        bool isLast = length == rest.Length;
        if (!TryWriteMessageRecord(call, frame.Flags, rest[..length], frame.WholeLength, isLast))
        {
            return WriteResult.NoSpace;
        }

        frame.Advance(length);
        return WriteResult.Written;
    }

    /// <summary>
    /// Returns how many bytes of a message the next record can carry; -1 if the call must wait for credit. A message
    /// with the flag Single needs no credit.
    /// </summary>
    private int GetNextRecordLength(ConnectionCall call, FrameFlags flags, int length)
    {
        int most = Math.Min(length, MaxPartBytes);
        if (most > _ring.MaxPayloadBytes)
        {
            _ring.WantGrowth();
            most = _ring.MaxPayloadBytes;
        }

        if ((flags & FrameFlags.Single) != 0)
        {
            return most;
        }

        long credit = call.Sending.Credit - CreditPerRecord;
        return credit >= most || credit >= MinPartBytes ? (int)Math.Min(most, credit) : -1;
    }

    /// <summary>
    /// Writes one record of a message. Of the message's flags, the first record carries Single and Loaned, and the last
    /// carries HalfClose. Only the first record carries the length of the whole message.
    /// </summary>
    private bool TryWriteMessageRecord(
        ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength, bool isLast)
    {
        bool isBegun = call.Sending.Is(SendStateFlags.MessageBegun);
        FrameKind kind = isBegun ? FrameKind.MessageChunk : FrameKind.Message;
        FrameFlags here = (isBegun ? 0 : flags & OfFirst) | (isLast ? flags & FrameFlags.HalfClose : 0);
        if (!TryWrite(call.Id, kind, here, default, part, isBegun ? 0 : (uint)wholeLength, isControl: false))
        {
            return false;
        }

        if ((flags & FrameFlags.Single) == 0)
        {
            call.Sending.Credit -= part.Length + CreditPerRecord;
        }

        call.Sending.Set(SendStateFlags.MessageBegun, !isLast);
        call.IsRequestKnownComplete |= call.IsOneWay && (here & FrameFlags.HalfClose) != 0;
        PublishIfLarge(isHeld: (here & FrameFlags.Loaned) != 0); // until it counts: the peer may return it at once
        return true;
    }

    private WriteResult WriteHeadPart(ConnectionCall call, OutboundFrame frame)
    {
        ReadOnlySpan<byte> rest = frame.Rest;
        bool isWhole = rest.Length <= _ring.MaxPayloadBytes && frame.HeadLength <= MaxHeadBytes;
        int length = isWhole ? rest.Length : Math.Min(rest.Length, MaxHeadBytes);
        int headLength = frame.IsStarted || !isWhole ? length : frame.HeadLength;
        bool isLast = length == rest.Length;
        FrameKind kind = frame.IsStarted ? FrameKind.HeadChunk : frame.Kind;
        FrameFlags flags = (frame.IsStarted ? 0 : frame.Flags) | (isLast ? 0 : FrameFlags.HeadContinues);
        ReadOnlySpan<byte> bytes = rest[..length];
        if (!TryWrite(
            call.Id,
            kind,
            flags,
            bytes[..headLength],
            bytes[headLength..],
            0,
            frame.Kind == FrameKind.HalfClose))
        {
            return WriteResult.NoSpace;
        }

        frame.Advance(length);
        SetPhase(call, frame.Kind, isLast);
        PublishIfLarge();
        return WriteResult.Written;
    }

    // Called after the phase is set: once the peer sees the end of a call, it may start the next one in its slot.
    private void PublishIfLarge(bool isHeld = false)
    {
        if (!isHeld && _ring.UnpublishedBytes >= PublishBytes)
        {
            _wakeMethods |= _ring.Publish();
        }
    }

    private void SetPhase(ConnectionCall call, FrameKind kind, bool isLast)
    {
        if (kind == FrameKind.CallStart)
        {
            call.Sending.Phase = CallSendPhase.Open;
        }
        else if (kind == FrameKind.End && isLast)
        {
            call.Sending.Phase = CallSendPhase.Finished;
            incoming.Remove(call);
        }
    }

    private bool TryWrite(
        CallId id,
        FrameKind kind,
        FrameFlags flags,
        ReadOnlySpan<byte> head,
        ReadOnlySpan<byte> body,
        uint argument,
        bool isControl)
    {
        int length = head.Length + body.Length;
        if (!TryClaim(length, isControl, out RingClaim claim))
        {
            return false;
        }

        head.CopyTo(claim.Payload);
        body.CopyTo(claim.Payload[head.Length..]);
        var header = new RecordHeader((uint)length, (byte)kind, (byte)flags, (ushort)head.Length, id.Value, argument);
        _ring.Commit(claim, header);
        return true;
    }

    private bool TryWriteControl(CallId id, FrameKind kind, uint argument = 0) =>
        TryWrite(id, kind, 0, default, default, argument, isControl: true);

    private bool TryClaim(int length, bool isControl, out RingClaim claim)
    {
        try
        {
            return _ring.TryClaim(length, isControl, out claim);
        }
        catch (RingCorruptedException exception)
        {
            Corruption = exception;
            claim = default;
            return false;
        }
    }
}

/// <summary>The result of writing a record.</summary>
internal enum WriteResult
{
    Written,

    /// <summary>The ring is full.</summary>
    NoSpace,

    /// <summary>The call needs credit from the peer first.</summary>
    NoCredit,
}
