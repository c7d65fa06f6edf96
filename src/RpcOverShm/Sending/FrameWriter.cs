using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Sending;

/// <summary>
/// Turns frames into records: a frame that fits becomes one, a larger message or head several. Keeps each call's credit
/// and phase. Used under the sender's gate only; waits for nothing and wakes nobody.
/// </summary>
internal sealed class FrameWriter(PeerLink link, IncomingCalls incoming)
{
    /// <summary>A larger message is cut. Both copies of a chunk stay in the L2 cache.</summary>
    public const int ChunkBytes = 32 << 10;

    /// <summary>
    /// What each record of a message costs of the credit besides its bytes, so that empty messages are not free.
    /// </summary>
    public const int CreditPerRecord = RecordHeader.SizeBytes;

    // Less of a message is not worth a record: more credit is on its way.
    private const int SmallestPieceBytes = 1 << 10;

    // Enough that the peer should see it while the rest is being copied.
    private const int PublishBytes = 4 << 10;

    private readonly RingWriter _ring = link.Writer;
    private bool _mustWake;

    /// <summary>The impossible head that the peer has given, after which nothing fits; null for none.</summary>
    public RingCorruptedException? Corruption { get; private set; }

    /// <summary>The longest payload of one record.</summary>
    public int MaxPayloadBytes => _ring.MaxPayloadBytes;

    private int MaxHeadBytes => Math.Min(_ring.MaxPayloadBytes, ushort.MaxValue);

    /// <summary>
    /// Writes a frame, but no message, that fits into one record. False, and nothing has happened, when it does not fit
    /// now.
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
        call.IsAllSent = kind == FrameKind.CallStart && (flags & FrameFlags.HalfClose) != 0;
        PublishIfMuch();
        return true;
    }

    /// <summary>
    /// Writes a message, or what is left of one whose parts were written, if that is one record. False, and nothing has
    /// happened, when it is more or does not fit now.
    /// </summary>
    public bool TryWriteMessage(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> message) =>
        RoomInMessageRecord(call, flags, message.Length) == message.Length
        && TryWriteMessageRecord(call, flags, message, message.Length, isLast: true);

    /// <summary>Writes the next record of a message that is not complete yet. Gives the bytes that it took.</summary>
    public int WritePart(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        int length = RoomInMessageRecord(call, flags, part.Length);
        return length > 0 && TryWriteMessageRecord(call, flags, part[..length], wholeLength, isLast: false)
            ? length
            : 0;
    }

    /// <summary>
    /// Writes the next record of the frame that the call has queued first. Takes the frame out when it was the last.
    /// </summary>
    public WriteResult WriteNext(ConnectionCall call)
    {
        OutboundFrame frame = call.Sending.First!;
        WriteResult outcome = frame.Kind == FrameKind.Message
            ? WriteMessagePart(call, frame)
            : WriteHeadPart(call, frame);
        if (outcome == WriteResult.Written && frame.IsSent)
        {
            call.Sending.Dequeue();
            Finish(call, frame);
        }

        return outcome;
    }

    /// <summary>
    /// Writes what a call owes the peer besides its frames: a cancel, behind a half-close that is due, or credit.
    /// </summary>
    public bool TryWriteControl(ConnectionCall call)
    {
        if (call.IsEndedByPeer)
        {
            call.Sending.IsHalfClosePending = false;
            call.Sending.IsCancelPending = false;
            call.Sending.PendingCredit = 0;
            return true;
        }

        if (call.Sending.IsHalfClosePending)
        {
            if (!TryWrite(call.Id, FrameKind.HalfClose, 0, default, default, 0, isControl: true))
            {
                return false;
            }

            call.Sending.IsHalfClosePending = false;
        }

        if (call.Sending.IsCancelPending)
        {
            if (!TryWrite(call.Id, FrameKind.Cancel, 0, default, default, 0, isControl: true))
            {
                return false;
            }

            call.Sending.IsCancelPending = false;
            call.Sending.PendingCredit = 0;
        }

        if (call.Sending.PendingCredit > 0 && call.Sending.Phase == CallSendPhase.Open)
        {
            if (!TryWrite(call.Id, FrameKind.Credit, 0, default, default, call.Sending.PendingCredit, isControl: true))
            {
                return false;
            }

            call.Sending.PendingCredit = 0;
        }

        return true;
    }

    public bool TryWriteGoAway() => TryWrite(CallId.None, FrameKind.GoAway, 0, default, default, 0, isControl: true);

    /// <summary>Makes everything visible. True when the peer must be woken, once the gate is left.</summary>
    public bool Publish()
    {
        if (_ring.HasUnpublished)
        {
            // CRASH record-written: records lie in the ring and the tail does not say so. The peer never sees them.
            CrashPoint.Reach(CrashPoint.RecordWritten);
            _mustWake |= _ring.Publish();

            // CRASH tail-published: the peer may sleep unrung. The end of the socket wakes it, and
            // it reads what is there.
            CrashPoint.Reach(CrashPoint.TailPublished);
        }

        return TakeWakeUp();
    }

    /// <summary>True when the peer must be woken for what was published already, once the gate is left.</summary>
    public bool TakeWakeUp()
    {
        bool mustWake = _mustWake;
        _mustWake = false;
        return mustWake;
    }

    /// <summary>Announces that this side sleeps for space; see <see cref="RingWriter.ParkForSpace"/>.</summary>
    public long? ParkForSpace()
    {
        long? head = null;
        try
        {
            head = _ring.ParkForSpace();
        }
        catch (RingCorruptedException exception)
        {
            Corruption = exception;
        }

        if (head is null)
        {
            _ring.UnparkForSpace();
        }

        return head;
    }

    public void UnparkForSpace() => _ring.UnparkForSpace();

    private static void Finish(ConnectionCall call, OutboundFrame frame)
    {
        if (!call.Sending.IsWithReader)
        {
            frame.Finish();
        }
        else if (frame.FinishQuietly())
        {
            call.OnWritten(frame);
        }
    }

    private WriteResult WriteMessagePart(ConnectionCall call, OutboundFrame frame)
    {
        ReadOnlySpan<byte> rest = frame.Rest;
        int length = RoomInMessageRecord(call, frame.Flags, rest.Length);
        if (length < 0)
        {
            return WriteResult.NoCredit;
        }

        bool isLast = length == rest.Length;
        if (!TryWriteMessageRecord(call, frame.Flags, rest[..length], frame.Length, isLast))
        {
            return WriteResult.NoSpace;
        }

        frame.Advance(length);
        return WriteResult.Written;
    }

    /// <summary>
    /// How many of so many bytes of a message may go in one record; below 0 when credit has to come first.
    /// </summary>
    private int RoomInMessageRecord(ConnectionCall call, FrameFlags flags, int length)
    {
        int most = Math.Min(length, Math.Min(ChunkBytes, _ring.MaxPayloadBytes));
        if ((flags & FrameFlags.Single) != 0)
        {
            return most;
        }

        long credit = call.Sending.Window - CreditPerRecord;
        return credit >= most || credit >= SmallestPieceBytes ? (int)Math.Min(most, credit) : -1;
    }

    /// <param name="call">The call.</param>
    /// <param name="flags">Of the message: what concerns its first or last record alone is left out of others.</param>
    /// <param name="part">The bytes of the record.</param>
    /// <param name="wholeLength">How long the message is; counts for its first record.</param>
    /// <param name="isLast">Whether the record is the message's last.</param>
    private bool TryWriteMessageRecord(
        ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength, bool isLast)
    {
        bool isBegun = call.Sending.IsMessageBegun;
        FrameKind kind = isBegun ? FrameKind.MessageChunk : FrameKind.Message;
        FrameFlags here = (isBegun ? 0 : flags & FrameFlags.Single) | (isLast ? flags & FrameFlags.HalfClose : 0);
        if (!TryWrite(call.Id, kind, here, default, part, isBegun ? 0 : (uint)wholeLength, isControl: false))
        {
            return false;
        }

        if ((flags & FrameFlags.Single) == 0)
        {
            call.Sending.Window -= part.Length + CreditPerRecord;
        }

        call.Sending.IsMessageBegun = !isLast;
        PublishIfMuch();
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
        PublishIfMuch();
        return WriteResult.Written;
    }

    // After the phase was noted: once the peer can see the end of a call, it may start the next under the same id.
    private void PublishIfMuch()
    {
        if (_ring.UnpublishedBytes >= PublishBytes)
        {
            _mustWake |= _ring.Publish();
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

/// <summary>What became of the attempt to write a record.</summary>
internal enum WriteResult
{
    Written,

    /// <summary>The ring is full.</summary>
    NoSpace,

    /// <summary>The peer has to give the call credit first.</summary>
    NoCredit,
}
