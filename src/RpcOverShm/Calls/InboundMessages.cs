using System.Threading.Tasks.Sources;
using Grpc.Core;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Calls;

/// <summary>
/// The received messages of one direction of one call: put together from their parts, kept until they are read, and the
/// credit that the peer gets back for what was read. The holder of the reader role adds; one reader of the call takes;
/// any thread may abort. The credit bounds what is kept here, so a reader that pauses stalls its own call and no other.
/// A reader that waits is woken as work of its call, never under a lock nor by the thread that adds.
/// </summary>
/// <param name="call">The call: its credit is granted, its reader woken.</param>
/// <param name="maxMessageBytes">The largest message taken; null for any. May change before the first.</param>
/// <param name="window">How many bytes of messages the peer may send before it gets credit.</param>
/// <param name="isAlwaysRequested">True where one message is expected, which is taken in any case.</param>
/// <param name="hint">How the messages are taken. May change before the first.</param>
internal sealed class InboundMessages(
    ConnectionCall call, long? maxMessageBytes, uint window, bool isAlwaysRequested, PayloadAccessHint hint)
    : IValueTaskSource
{
    private readonly Lock _gate = new();
    private readonly Queue<(ReceivedMessage Bytes, long Cost)> _queue = new();
    private ManualResetValueTaskSourceCore<bool> _wait;
    private bool _isReaderWaiting;  // and was not told yet
    private bool _isWakeDue;        // the reader was told; somebody is to complete its wait
    private CancellationToken _cancelledBy;
    private bool _isEnded;          // no message follows those in the queue
    private volatile bool _isAborted;
    private bool _isRefusing;       // a message ends the call; until then its parts still come
    private long _consumed;         // credit's worth that the reader has taken, or waits for
    private long _granted;          // credit's worth that the peer got back
    private long _received;         // credit's worth that came; the reader role's own
    private bool _hasBegun;         // a message has come, or begun to
    private bool _isFree;           // the message is the only one, and so costs no credit
    private ReceivedMessage _partial;  // a message that is not complete
    private int _partialLength;     // what it will be
    private long _partialCost;      // of the partial message, not consumed yet

    public long? MaxMessageBytes { get; set; } = maxMessageBytes;

    public PayloadAccessHint Hint { get; set; } = hint;

    public bool IsEnded => Volatile.Read(ref _isEnded);

    /// <summary>True when every message was taken and none follows.</summary>
    public bool IsAtEnd => IsEnded && IsEmpty;

    /// <summary>True when no complete message waits to be taken.</summary>
    public bool IsEmpty
    {
        get
        {
            lock (_gate)
            {
                return _queue.Count == 0;
            }
        }
    }

    /// <summary>Adds a message, or the first part of one.</summary>
    /// <returns>Null, or the status with which the call ends because of it.</returns>
    /// <exception cref="ProtocolException">It may not come now, or exceeds the peer's credit.</exception>
    public Status? Add(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (_isAborted || _isRefusing)
        {
            return null;
        }

        CheckMayCome(isContinuation: false);
        _isFree = (flags & FrameFlags.Single) != 0 && !_hasBegun;
        long cost = Charge(bytes.Length);
        if (wholeLength > int.MaxValue || wholeLength > MaxMessageBytes)
        {
            _isRefusing = true;
            return StatusMapping.ReceivedTooLarge(wholeLength, MaxMessageBytes ?? int.MaxValue);
        }

        // Credit comes back as the one message arrives: a second one must not be kept.
        if (isAlwaysRequested && _hasBegun)
        {
            _isRefusing = true;
            return StatusMapping.AdditionalMessage;
        }

        _hasBegun = true;
        _partialLength = (int)wholeLength;

        _partial = ReceivedMessage.ToCome(_partialLength, bytes.Length, Hint);
        AddPart(bytes, cost, flags);
        return null;
    }

    /// <summary>Adds the next part of a message.</summary>
    /// <exception cref="ProtocolException">It may not come now, or exceeds the peer's credit.</exception>
    public void AddChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (_isAborted || _isRefusing)
        {
            return;
        }

        CheckMayCome(isContinuation: true);
        long cost = Charge(bytes.Length);
        if (bytes.Length > _partialLength - _partial.Length)
        {
            throw new ProtocolException($"More bytes than the {_partialLength} of the message.");
        }

        AddPart(bytes, cost, flags);
    }

    /// <summary>No message follows.</summary>
    /// <exception cref="ProtocolException">A message is not complete.</exception>
    public void End()
    {
        if (_isRefusing)
        {
            return; // The reader must not take this for the end of a stream: the call's own end follows.
        }

        ThrowIfIncomplete();
        EndAbruptly();
    }

    /// <exception cref="ProtocolException">A message is not complete.</exception>
    public void ThrowIfIncomplete()
    {
        if (!_isAborted && !_partial.IsEmpty)
        {
            throw new ProtocolException($"A message of {_partialLength} bytes ended after {_partial.Length}.");
        }
    }

    /// <summary>The call has failed: what is complete can still be read, nothing follows.</summary>
    public void EndAbruptly()
    {
        _partial.Release();
        lock (_gate)
        {
            _isEnded = true;
            RecordWake();
        }
    }

    /// <summary>Drops everything, also what still comes. A waiting reader goes on and finds nothing.</summary>
    public void Abort()
    {
        bool isWoken;
        lock (_gate)
        {
            _isAborted = true;
            _isEnded = true;
            while (_queue.TryDequeue(out (ReceivedMessage Bytes, long Cost) received))
            {
                received.Bytes.Release();
            }

            isWoken = RecordWake();
        }

        if (isWoken)
        {
            call.QueueUserCode(); // Whoever aborts may be anybody, with any locks of its own.
        }
    }

    /// <summary>Completes the wait of a reader that may go on. As work of the call: its code runs in here.</summary>
    public void CompleteWait()
    {
        CancellationToken cancelledBy;
        lock (_gate)
        {
            if (!_isWakeDue)
            {
                return;
            }

            _isWakeDue = false;
            cancelledBy = _cancelledBy;
            _cancelledBy = default;
        }

        if (cancelledBy.IsCancellationRequested)
        {
            _wait.SetException(new OperationCanceledException(cancelledBy));
        }
        else
        {
            _wait.SetResult(true);
        }
    }

    /// <summary>Takes the next message. False when none is complete.</summary>
    public bool TryTake(out ReceivedMessage bytes)
    {
        long credit;
        lock (_gate)
        {
            if (!_queue.TryDequeue(out (ReceivedMessage Bytes, long Cost) received))
            {
                bytes = default;
                return false;
            }

            bytes = received.Bytes;
            credit = Consume(received.Cost);
        }

        Grant(credit);
        return true;
    }

    /// <summary>
    /// Completes when there is something to take or nothing follows. One reader at a time: its next wait comes after
    /// this one's end. Given up when the token is cancelled: then it throws, and the next wait starts afresh.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public ValueTask WaitAsync(CancellationToken cancellationToken) =>
        cancellationToken.CanBeCanceled ? WaitCancellablyAsync(cancellationToken) : BeginWait();

    void IValueTaskSource.GetResult(short token) => _wait.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _wait.GetStatus(token);

    void IValueTaskSource.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _wait.OnCompleted(continuation, state, token, flags);

    private ValueTask BeginWait()
    {
        long credit;
        short version;
        lock (_gate)
        {
            if (_queue.Count > 0 || _isEnded)
            {
                return ValueTask.CompletedTask;
            }

            _isReaderWaiting = true;
            _wait.Reset();
            version = _wait.Version;

            // A message may exceed the window: its parts count as read while somebody waits for it.
            credit = Consume(_partialCost);
            _partialCost = 0;
        }

        Grant(credit);
        return new ValueTask(this, version);
    }

    private async ValueTask WaitCancellablyAsync(CancellationToken cancellationToken)
    {
        ValueTask wait = BeginWait();
        using (cancellationToken.UnsafeRegister(
            static (messages, token) => ((InboundMessages)messages!).CancelWait(token), this))
        {
            await wait.ConfigureAwait(false);
        }
    }

    private void CancelWait(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (!RecordWake())
            {
                return;
            }

            _cancelledBy = cancellationToken;
        }

        call.QueueUserCode();
    }

    private void CheckMayCome(bool isContinuation)
    {
        if (_isEnded && !_isAborted)
        {
            throw new ProtocolException("A message after the end of messages.");
        }

        if (isContinuation == _partial.IsEmpty)
        {
            throw new ProtocolException("A message began before the last was complete, or went on before it began.");
        }
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
            : throw new ProtocolException($"{_received} bytes of messages where {window + _granted} were allowed.");
    }

    private void AddPart(ReadOnlySpan<byte> bytes, long cost, FrameFlags flags)
    {
        _partial.Append(bytes, Hint.RoomFor(_partialLength - _partial.Length - bytes.Length));
        bool isComplete = _partial.Length == _partialLength;
        bool isLast = (flags & FrameFlags.HalfClose) != 0;
        if (isLast && !isComplete)
        {
            ThrowIfIncomplete();
        }

        long credit = 0;
        lock (_gate)
        {
            if (_isReaderWaiting || isAlwaysRequested)
            {
                credit = Consume(cost);
            }
            else
            {
                _partialCost += cost;
            }

            if (isComplete)
            {
                call.CountMessage();
                Enqueue();
            }

            _isEnded |= isLast;
            if (isComplete || isLast)
            {
                RecordWake();
            }
        }

        Grant(credit);
    }

    // Under the gate.
    private void Enqueue()
    {
        if (_isAborted)
        {
            _partial.Release();
        }
        else
        {
            _queue.Enqueue((_partial, _partialCost));
            _partial = default;
        }

        _partialCost = 0;
    }

    // Under the gate. What the peer may have back now: half a window at a time, so that credit is rare on the wire.
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

    // Under the gate. A reader that waits may go on: notes that as work of the call, which whoever reads the ring runs
    // or queues. False when none waits, or it was told before.
    private bool RecordWake()
    {
        if (!_isReaderWaiting)
        {
            return false;
        }

        _isReaderWaiting = false;
        _isWakeDue = true;
        call.AddUserCode(PendingUserCode.WakeReader);
        return true;
    }
}
