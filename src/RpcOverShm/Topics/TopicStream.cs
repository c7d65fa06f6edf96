using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Topics;

/// <summary>
/// One call's messages of a topic, which its reader copies out of the topic's memory. The lock keeps that memory mapped
/// during a copy; nobody else takes it but who ends the stream.
/// </summary>
internal sealed class TopicStream : MessageSource
{
    private const int MostLooks = 4;

    private readonly UninterruptibleLock _lock = new();
    private readonly PeerTopics _owner;
    private readonly PeerTopic _topic;
    private readonly TopicReader _reader;
    private readonly TopicSlowness _whenSlow;
    private readonly ushort _turn;
    private readonly long _mostUntold;
    private IMessageWaiter? _waiter;
    private long _end = long.MaxValue;
    private long _told;
    private long _skipped;
    private Status? _failure;
    private bool _isCut; // what comes next was overwritten, and nothing follows
    private volatile bool _isClosed;

    /// <summary>Takes one use of the topic over.</summary>
    public TopicStream(PeerTopics owner, PeerTopic topic, in TopicReference start, TopicConsumer consumer)
    {
        _owner = owner;
        _topic = topic;
        _whenSlow = start.WhenSlow;
        _turn = start.Turn;
        _reader = new TopicReader(topic.Segment!, new TopicStart(start.Position, start.Sequence));
        _mostUntold = TopicLimits.UntoldBytes(topic.Segment!.Capacity);
        _told = start.Position;
        Consumer = consumer;
    }

    // A call that has ended, and that its user has neither read to the end nor disposed.
    ~TopicStream() => PoolWork.Queue(static stream => stream.Dispose(), this);

    public TopicConsumer Consumer { get; }

    /// <summary>Whether the server is to be told what it has read. Guarded by the lock of its owner.</summary>
    public bool IsUntold { get; set; }

    /// <summary>The turn of the topic in its call.</summary>
    public ushort Turn => _turn;

    /// <summary>The position to tell.</summary>
    public long Told => Volatile.Read(ref _told);

    /// <summary>Whether it is among those that wait. Guarded by the lock of its owner.</summary>
    public bool IsWaiting { get; set; }

    /// <summary>
    /// Whether the publisher has written more, or there is an end or a failure to see. While the stream waits, so that
    /// it is not disposed.
    /// </summary>
    public bool HasMore =>
        _isClosed || _failure is not null || _reader.Position >= Volatile.Read(ref _end) || _reader.HasData;

    public override bool HasNext
    {
        get
        {
            using (_lock.Enter())
            {
                return HasMore;
            }
        }
    }

    public override bool IsAtEnd => _isClosed || _reader.Position >= Volatile.Read(ref _end);

    public override Status? Failure => _failure;

    public override long Skipped => Volatile.Read(ref _skipped);

    public override bool TryTake(long? maxBytes, PayloadAccessHint hint, out ReceivedMessage message)
    {
        bool isTaken = false;
        bool isToBeTold = false;
        message = default;
        try
        {
            using (_lock.Enter())
            {
                if (!_isClosed && _failure is null)
                {
                    isTaken = TryCopy(maxBytes, hint, out message);
                    isToBeTold = IsToBeTold();
                }
            }
        }
        catch (RingCorruptedException exception)
        {
            // Set first: the call may have had its End, and then hears of no close.
            _failure = new Status(StatusCode.Internal, exception.Message, exception);
            Consumer.OnViolation(exception);
        }

        if (isToBeTold)
        {
            _owner.Tell(this);
        }

        return isTaken;
    }

    public override bool TryWait(IMessageWaiter waiter)
    {
        _waiter = waiter;
        return _owner.TryAddWaiting(this);
    }

    /// <summary>Tells the reader that its wait is over. Called by the event loop.</summary>
    public void CompleteWait() => _waiter!.OnMessages();

    public override void EndAt(long position)
    {
        using (_lock.Enter())
        {
            if (_isClosed || _isCut)
            {
                return;
            }

            // What lies before the end was published before that is told.
            if ((position & 15) != 0 || position > _reader.ReadTail())
            {
                throw new ProtocolException($"The peer ended a topic at {position}, where it has no end.");
            }

            Volatile.Write(ref _end, position);
        }
    }

    public override void Dispose()
    {
        _owner.RemoveWaiting(this);
        using (_lock.Enter())
        {
            if (_isClosed)
            {
                return;
            }

            _isClosed = true;
        }

        GC.SuppressFinalize(this);
        _owner.Release(_topic);
    }

    private bool TryCopy(long? maxBytes, PayloadAccessHint hint, out ReceivedMessage message)
    {
        message = default;
        // A publisher that laps this reader time and again must not keep it under the lock: it comes again.
        for (int looks = 0; looks < MostLooks && _reader.Position < _end && _failure is null; looks++)
        {
            TopicState state = _reader.TryRead(out TopicRecord record);
            if (state == TopicState.Empty || _reader.Position >= _end)
            {
                return false;
            }

            if (state == TopicState.Message && !IsRefused(record, maxBytes))
            {
                if (TryCopy(record.Length, hint, out message))
                {
                    Volatile.Write(ref _skipped, _skipped + record.Lost);
                    return true;
                }
            }

            if (_failure is null)
            {
                GoOn();
            }
        }

        return false;
    }

    private bool IsRefused(in TopicRecord record, long? maxBytes)
    {
        if (record.Lost > 0 && _whenSlow == TopicSlowness.End)
        {
            _failure = Lost(record.Lost);
        }
        else if (record.Length > maxBytes)
        {
            _failure = TooLarge(record.Length, maxBytes.Value);
        }

        return _failure is not null;
    }

    private bool TryCopy(int length, PayloadAccessHint hint, out ReceivedMessage message)
    {
        message = ReceivedMessage.ToCome(length, length, hint);
        if (_reader.TryCopy(message.GetRoom(length)))
        {
            message.Advance(length);
            return true;
        }

        message.Release();
        return false;
    }

    // The publisher has overwritten what comes next.
    private void GoOn()
    {
        if (_whenSlow == TopicSlowness.Wait)
        {
            // The publisher has waited long enough, and has ended the call: its status is about to come.
            _isCut = true;
            Volatile.Write(ref _end, _reader.Position);
        }
        else
        {
            _reader.SkipToNewest();
        }
    }

    private static Status TooLarge(int length, long limit) => new(
        StatusCode.ResourceExhausted,
        $"A message of {length} bytes of a topic exceeds MaxReceiveMessageSize, which is {limit} bytes.");

    /// <summary>The status of a stream that has lost messages.</summary>
    public static Status Lost(long messages) => new(
        StatusCode.DataLoss,
        $"The stream was slower than the publisher of its topic: {messages} messages are lost. Read faster, or "
        + "subscribe with another ShmSlowSubscriber, or give the topic a larger Capacity.");

    private bool IsToBeTold()
    {
        long position = _reader.Position;
        if (_whenSlow != TopicSlowness.Wait || position - _told < _mostUntold)
        {
            return false;
        }

        Volatile.Write(ref _told, position);
        return true;
    }
}
