using System.Threading.Tasks.Sources;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The received messages of one call: assembles them from parts, queues them until they are read, and grants the peer
/// credit for those that were read. Credit bounds the queue, so a paused reader stalls only its own call. The holder of
/// the reader role adds messages, one reader of the call takes them, and any thread may abort. A waiting reader resumes
/// as pending user code of the call, never under a lock and never inside the adding code. If the call expects one
/// message (<paramref name="isAlwaysRequested"/>), its credit is granted on arrival, as if a reader waited for it. What
/// is kept counts towards the <paramref name="budget"/>; without one, it is not counted. The limit of a message is an
/// option of the <paramref name="side"/>.
/// </summary>
internal sealed partial class InboundMessages(
    ConnectionCall call,
    long? maxMessageBytes,
    string side,
    uint window,
    bool isAlwaysRequested,
    PayloadAccessHint hint,
    BufferBudget? budget = null)
    : IValueTaskSource, IMessageWaiter
{
    // The place of a message in the queue, which may have room for twice as many, and the header of its array.
    private const int BytesPerMessage = 96;

    // The room that an empty queue keeps.
    private const int KeptPlaces = 64;

    private readonly UninterruptibleLock _lock = new();
    private readonly Queue<(ReceivedMessage Bytes, long Cost)> _queue = new();
    private BufferCharge _charge = new(budget);
    private long _queuedBytes;      // of the queued messages and their arrays
    private bool _isEnded;          // no message follows the queued ones
    private volatile bool _isAborted;
    private bool _isRefusing;       // a refused message ends the call; its parts may still come
    private long _consumed;         // credit for bytes that the reader took or waits for
    private long _granted;          // credit that the peer got back
    private long _received;         // credit that the peer used; for the holder of the reader role
    private bool _hasBegun;         // at least the first part of a message has come
    private bool _isFree;           // the message is the only one and costs no credit
    private ReceivedMessage _partial;  // the incomplete message
    private int _partialLength;     // its announced length
    private long _partialCost;      // its credit that was not consumed yet

    /// <summary>The maximum message length; null for none. Like the hint, set before the first message.</summary>
    public long? MaxMessageBytes { get; set; } = maxMessageBytes;

    public PayloadAccessHint Hint { get; set; } = hint;

    /// <summary>The budget that a refused message would have exceeded; null for none.</summary>
    public BufferBudget? Exceeded { get; private set; }

    public bool IsEnded => Volatile.Read(ref _isEnded);

    /// <summary>Whether all messages were taken and none follows.</summary>
    public bool IsAtEnd => IsEnded && IsEmpty;

    /// <summary>Whether no complete message is queued, or is to come from a source.</summary>
    public bool IsEmpty
    {
        get
        {
            using (_lock.Enter())
            {
                return _queue.Count == 0 && _source is null or { IsAtEnd: true };
            }
        }
    }

    /// <summary>Adds a message or the first part of one.</summary>
    /// <returns>The status that ends the call because of this message; null for none.</returns>
    /// <exception cref="ProtocolException">The message is not allowed now, or exceeds the credit.</exception>
    public Status? Add(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        long credit;
        Status? problem;
        using (_lock.Enter())
        {
            if (_isAborted || _isRefusing)
            {
                return null;
            }

            long cost = ChargeFirst(bytes.Length, flags);
            if (RefuseOrBegin(wholeLength) is { } refusal)
            {
                return refusal;
            }

            problem = AddPart(bytes, cost, flags, out credit);
        }

        Grant(credit);
        return problem;
    }

    /// <summary>Adds the next part of a message.</summary>
    /// <returns>The status that ends the call because of this part; null for none.</returns>
    /// <exception cref="ProtocolException">The part is not allowed now, or exceeds credit or message.</exception>
    public Status? AddChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        long credit;
        Status? problem;
        using (_lock.Enter())
        {
            if (_isAborted || _isRefusing)
            {
                return null;
            }

            CheckMayCome(isContinuation: true);
            long cost = Charge(bytes.Length);
            if (bytes.Length > _partialLength - _partial.Length)
            {
                throw new ProtocolException(
                    $"The peer sent {_partial.Length + bytes.Length} bytes of a message of {_partialLength}.");
            }

            problem = AddPart(bytes, cost, flags, out credit);
        }

        Grant(credit);
        return problem;
    }

    /// <summary>Ends the messages: none follows.</summary>
    /// <exception cref="ProtocolException">A message is incomplete.</exception>
    public void End()
    {
        if (_isRefusing)
        {
            return; // The reader must not see a normal end of stream: the failure of the call follows.
        }

        ThrowIfIncomplete();
        EndAbruptly();
    }

    /// <exception cref="ProtocolException">A message is incomplete.</exception>
    public void ThrowIfIncomplete()
    {
        if (!_isAborted && _openSource is not null)
        {
            throw new ProtocolException("The peer ended a call before the topic that it reads.");
        }

        if (!_isAborted && !_partial.IsEmpty)
        {
            throw new ProtocolException($"A message of {_partialLength} bytes ended after {_partial.Length}.");
        }
    }

    /// <summary>Ends the messages of a failed call: complete ones can still be read, and none follows.</summary>
    public void EndAbruptly()
    {
        using (_lock.Enter())
        {
            _partial.Release();
            _charge.Shrink(_queuedBytes);
            _isEnded = true;
            DropOpenSource();
            RecordWake();
        }
    }

    /// <summary>Drops all messages, including later ones. A waiting reader resumes and finds none.</summary>
    public void Abort()
    {
        bool isWoken;
        List<ReceivedMessage>? loaned = null;
        using (_lock.Enter())
        {
            _isAborted = true;
            _isEnded = true;
            _partial.Release();
            while (_queue.TryDequeue(out (ReceivedMessage Bytes, long Cost) received))
            {
                if (received.Bytes.IsLoaned || received.Bytes.Source is not null)
                {
                    (loaned ??= []).Add(received.Bytes);
                }
                else
                {
                    received.Bytes.Release();
                }
            }

            _queuedBytes = 0;
            _charge.Release();
            isWoken = RecordWake();
        }

        loaned?.ForEach(static message => message.Release()); // not under the lock: this tells the peer
        SetSource(null);
        if (isWoken)
        {
            call.QueueUserCode(); // Not run here: the aborting thread may hold any lock.
        }
    }

    private bool TryDequeue(out ReceivedMessage bytes)
    {
        long credit;
        using (_lock.Enter())
        {
            if (!_queue.TryDequeue(out (ReceivedMessage Bytes, long Cost) received))
            {
                bytes = default;
                return false;
            }

            bytes = received.Bytes;
            _queuedBytes -= bytes.KeptBytes + BytesPerMessage;
            if (_queue.Count == 0)
            {
                _charge.Shrink(_partial.KeptBytes);
                if (_queue.Capacity > KeptPlaces)
                {
                    _queue.TrimExcess(KeptPlaces);
                }
            }

            credit = Consume(received.Cost);
        }

        Grant(credit);
        return true;
    }

    private void CheckMayCome(bool isContinuation)
    {
        if (_isEnded && !_isAborted)
        {
            throw new ProtocolException("The peer sent a message after the end of its messages.");
        }

        if (isContinuation == _partial.IsEmpty)
        {
            throw new ProtocolException(isContinuation
                ? "The peer continued a message that had not begun."
                : "The peer began a message before the last was complete.");
        }
    }

    // The cost of a message's first record.
    private long ChargeFirst(int bytes, FrameFlags flags)
    {
        CheckMayCome(isContinuation: false);
        _isFree = (flags & FrameFlags.Single) != 0 && !_hasBegun;
        return Charge(bytes);
    }

    private Status? RefuseOrBegin(long wholeLength)
    {
        if (wholeLength > int.MaxValue || wholeLength > MaxMessageBytes)
        {
            _isRefusing = true;
            return StatusMapping.ReceivedTooLarge(wholeLength, MaxMessageBytes ?? int.MaxValue, side);
        }

        // The credit of a single expected message comes back on arrival, so a second message would not be bounded.
        if (isAlwaysRequested && _hasBegun)
        {
            _isRefusing = true;
            return StatusMapping.AdditionalMessage;
        }

        _hasBegun = true;
        _partialLength = (int)wholeLength;
        return null;
    }

    private long Charge(int bytes)
    {
        if (_isFree)
        {
            return 0;
        }

        long cost = bytes + FrameWriter.CreditPerRecord;
        _received += cost;
        return _received <= window + Volatile.Read(ref _granted)
            ? cost
            : throw new ProtocolException(
                $"The peer sent {_received} bytes of messages, with {FrameWriter.CreditPerRecord} for each record; its "
                + $"credit allowed {window + _granted}.");
    }

    // Under the lock: another thread that aborts releases the part.
    private Status? AddPart(ReadOnlySpan<byte> bytes, long cost, FrameFlags flags, out long credit)
    {
        credit = 0;

        // Counted first: bytes that are not kept must not cost an array and a copy.
        if (Count(_partial.Length + bytes.Length) is { } refusal)
        {
            return refusal;
        }

        if (_partial.IsEmpty)
        {
            _partial = ReceivedMessage.ToCome(_partialLength, bytes.Length, Hint);
        }

        _partial.Append(bytes, Hint.RoomFor(_partialLength - _partial.Length - bytes.Length));
        bool isComplete = _partial.Length == _partialLength;
        bool isLast = (flags & FrameFlags.HalfClose) != 0;
        if (isLast && !isComplete)
        {
            ThrowIfIncomplete();
        }

        // The array may have more room than was counted.
        if (Count(_partial.KeptBytes) is { } refusalOfRoom)
        {
            return refusalOfRoom;
        }

        credit = TakeCost(cost);
        EndPart(isComplete, isLast);
        return null;
    }

    // Under the lock. Returns the credit to grant.
    private long TakeCost(long cost)
    {
        if (_isReaderWaiting || isAlwaysRequested)
        {
            return Consume(cost);
        }

        _partialCost += cost;
        return 0;
    }

    // Under the lock.
    private void EndPart(bool isComplete, bool isLast)
    {
        if (isComplete)
        {
            call.CountMessage();
            _queuedBytes += _partial.KeptBytes + BytesPerMessage;
            _queue.Enqueue((_partial, _partialCost));
            _partial = default;
            _partialCost = 0;
        }

        _isEnded |= isLast;
        if (isComplete || isLast)
        {
            RecordWake();
        }
    }

    // Under the lock. Counts what the incomplete message keeps, beside the queued ones; refuses it beyond the budget.
    private Status? Count(long partialBytes)
    {
        if (_charge.Grow(_queuedBytes + BytesPerMessage + partialBytes) is not { } full)
        {
            return null;
        }

        _isRefusing = true;
        _partial.Release();
        Exceeded = full;
        return StatusMapping.BufferFull(full);
    }

    // Under the lock. Returns the credit to grant: half a window at a time, to keep credit frames rare.
    private long Consume(long cost)
    {
        _consumed += cost;
        long due = _consumed - _granted;
        if (_isEnded || due < window / 2)
        {
            return 0;
        }

        Volatile.Write(ref _granted, _consumed);
        return due;
    }

    private void Grant(long credit)
    {
        if (credit > 0)
        {
            call.GrantCredit((uint)credit);
        }
    }
}
