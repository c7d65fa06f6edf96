using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The client's half of the topics of one link: the files that it has mapped, the streams that wait for messages in
/// them, and what the server must be told. Thread-safe, but for the members of the event loop.
/// </summary>
/// <param name="maxBytes">The memory of all files; what goes beyond it is refused, and comes as bytes.</param>
/// <param name="parking">The word that tells the publishers whether the event loop sleeps.</param>
internal sealed partial class PeerTopics(long maxBytes, TopicParking parking)
{
    /// <summary>The public option for the memory.</summary>
    public const string BytesOption = "MaxTopicSize";

    /// <summary>The files that a peer can make this side map for one connection.</summary>
    public const int MostFiles = 256;

    private readonly UninterruptibleLock _lock = new();
    private readonly Dictionary<uint, PeerTopic> _files = [];
    private readonly Queue<(uint Number, bool IsMapped)> _answers = new();
    private readonly List<TopicStream> _waiting = [];
    private readonly Queue<TopicStream> _untold = new(); // the server must know what they have read
    private long _bytes;
    private uint _next = FileNotice.FirstTopic;
    private volatile int _waitingCount;
    private volatile bool _hasNews;
    private volatile bool _isLoopParked;
    private bool _isArmed;
    private bool _isRefusalTold; // one log entry for a link: each subscription would add one
    private long _wakes;
    private long _tailsWhenArmed;
    private bool _isOver;

    /// <summary>Called, under no lock, when the server must be told something. Set before the first file.</summary>
    public Action? OnNews { get; set; }

    /// <summary>Called with the reason why a file is not mapped. Set before the first file.</summary>
    public Action<string>? OnRefused { get; set; }

    /// <summary>Whether there is something to tell the server. A hint.</summary>
    public bool HasNews => _hasNews;

    /// <summary>Whether a stream waits for messages that are there. A hint; only for the event loop.</summary>
    public bool HasReady
    {
        get
        {
            if (_waitingCount == 0)
            {
                return false;
            }

            using (_lock.Enter())
            {
                return _waiting.Exists(static stream => stream.HasMore);
            }
        }
    }

    /// <summary>
    /// The waits of streams, and the sleeps of the loop during which something was published, that have ended. A
    /// publisher rings at most once for each.
    /// </summary>
    public long Wakes => Volatile.Read(ref _wakes);

    /// <summary>The number of files that are mapped or about to be.</summary>
    public int Count
    {
        get
        {
            using (_lock.Enter())
            {
                return _files.Count;
            }
        }
    }

    /// <summary>Takes a file that the server has passed, and maps it on a pool thread.</summary>
    /// <exception cref="ProtocolException">It is not the next number.</exception>
    public void Add(FileNotice notice, SafeHandle handle)
    {
        var topic = new PeerTopic(notice);
        string? refusal;
        using (_lock.Enter())
        {
            if (notice.Number != _next)
            {
                throw new ProtocolException($"The peer passed topic {notice.Number}; the next one is {_next}.");
            }

            _next++;
            refusal = _isOver ? "the connection has ended."
                : _files.Count == MostFiles ? $"a connection maps at most {MostFiles} topics."
                : _bytes + notice.SizeBytes > maxBytes ? $"{BytesOption}, which is {maxBytes} bytes, is reached."
                : null;
            if (refusal is null)
            {
                _bytes += notice.SizeBytes;
                _files.Add(notice.Number, topic);
            }
        }

        PoolWork.Queue(static work => work.Topics.Map(work), new Mapping(this, topic, handle, refusal));
    }

    /// <summary>Begins to read a topic for a call.</summary>
    /// <exception cref="ProtocolException">The topic is not mapped, or the start lies outside of it.</exception>
    public TopicStream Open(TopicReference start, TopicConsumer consumer)
    {
        using (_lock.Enter())
        {
            if (!_files.TryGetValue(start.File, out PeerTopic? topic) || topic.Segment is null)
            {
                throw new ProtocolException($"The peer refers to topic {start.File}, which is not mapped.");
            }

            topic.Holds++;
            return new TopicStream(this, topic, start, consumer);
        }
    }

    /// <summary>Forgets a topic that the server sends nothing more of. Streams that still read it go on.</summary>
    /// <exception cref="ProtocolException">There is none with the number.</exception>
    public void Drop(uint number)
    {
        PeerTopic? topic;
        using (_lock.Enter())
        {
            if (!_files.TryGetValue(number, out topic) || topic.Segment is null || !_files.Remove(number))
            {
                throw new ProtocolException($"The peer dropped topic {number}, which is not mapped.");
            }
        }

        Release(topic);
    }

    /// <summary>Ends one use of a topic. The last one unmaps it.</summary>
    public void Release(PeerTopic topic)
    {
        TopicSegment? unused;
        using (_lock.Enter())
        {
            if (--topic.Holds > 0)
            {
                return;
            }

            _bytes -= topic.Notice.SizeBytes;
            unused = topic.Segment;
        }

        if (unused is not null)
        {
            // Not on this thread: it may be the event loop, and to unmap a large file takes a millisecond.
            PoolWork.Queue(static segment => segment.Dispose(), unused);
        }
    }

    /// <summary>
    /// Lets a stream wait: <see cref="TryTakeReady"/> returns it when it has messages. Returns false if it has some.
    /// </summary>
    public bool TryAddWaiting(TopicStream stream)
    {
        using (_lock.Enter())
        {
            if (!stream.IsWaiting)
            {
                stream.IsWaiting = true;
                _waiting.Add(stream);
                _waitingCount = _waiting.Count;
            }

            ArmIfDue();
        }

        // StoreLoad: the word is armed, or the event loop awake, before the tail is read here; the
        // publisher stores the tail before it reads the word.
        Interlocked.MemoryBarrier();
        if (!stream.HasNext) // by its lock: another thread may dispose it, and unmap what it reads
        {
            return true;
        }

        // If the loop has taken the stream meanwhile, it calls the waiter.
        return !RemoveWaiting(stream);
    }

    /// <summary>Takes a stream out of those that wait. Returns false if it is not among them.</summary>
    public bool RemoveWaiting(TopicStream stream)
    {
        using (_lock.Enter())
        {
            if (!stream.IsWaiting)
            {
                return false;
            }

            stream.IsWaiting = false;
            _waiting.Remove(stream);
            _waitingCount = _waiting.Count;
            _wakes++;
            return true;
        }
    }

    /// <summary>Takes a stream whose wait is over. Only for the event loop.</summary>
    public bool TryTakeReady(out TopicStream? stream)
    {
        stream = null;
        if (_waitingCount == 0)
        {
            return false;
        }

        using (_lock.Enter())
        {
            int at = _waiting.FindIndex(static one => one.HasMore);
            if (at < 0)
            {
                return false;
            }

            stream = _waiting[at];
            stream.IsWaiting = false;
            _waiting.RemoveAt(at); // in their order: each gets its turn
            _waitingCount = _waiting.Count;
            _wakes++;
            return true;
        }
    }

    /// <summary>
    /// The event loop sleeps from now on: publishers ring while a stream waits. Returns false if one has messages.
    /// </summary>
    public bool TryPark()
    {
        using (_lock.Enter())
        {
            _isLoopParked = true;
            ArmIfDue();
        }

        // StoreLoad, as for a stream that begins to wait.
        Interlocked.MemoryBarrier();
        return !HasReady;
    }

    /// <summary>The event loop is awake, and looks at the streams itself.</summary>
    public void Unpark()
    {
        if (_isLoopParked)
        {
            using (_lock.Enter())
            {
                _isLoopParked = false;
                if (_isArmed && !_isOver)
                {
                    _isArmed = false;
                    parking.Disarm();
                    _wakes += SumTails() == _tailsWhenArmed ? 0 : 1;
                }
            }
        }
    }

    /// <summary>Ends the link. Streams still read what is there.</summary>
    public void Close()
    {
        PeerTopic[] all;
        using (_lock.Enter())
        {
            _isOver = true;
            _hasNews = false;
            OnNews = null;
            _answers.Clear();
            _untold.Clear();
            all = [.. _files.Values];
            _files.Clear();
        }

        Array.ForEach(all, Release);
    }

    // Under the lock.
    private void ArmIfDue()
    {
        if (_isLoopParked && !_isArmed && _waiting.Count > 0 && !_isOver)
        {
            _isArmed = true;
            _tailsWhenArmed = SumTails();
            parking.Arm();
        }
    }

    // Under the lock. Only compared: a publisher of any topic that has written something had a reason to ring.
    private long SumTails()
    {
        long sum = 0;
        foreach (PeerTopic topic in _files.Values)
        {
            sum = unchecked(sum + (topic.Segment?.ReadTail() ?? 0));
        }

        return sum;
    }

    private void Map(Mapping work)
    {
        string? problem = work.Refusal;
        TopicSegment? segment = null;
        if (problem is null)
        {
            try
            {
                segment = TopicSegment.Open(work.Handle, work.Topic.Notice.SizeBytes);
            }
            catch (Exception exception) when (exception is SegmentException or IOException or OutOfMemoryException)
            {
                problem = exception.Message;
            }
        }
        else
        {
            ForeignHandles.Shared.Close(work.Handle);
        }

        PeerTopic? useless = null;
        Action? onNews;
        bool isOver;
        using (_lock.Enter())
        {
            // The link may have ended meanwhile, and with it the last use.
            isOver = work.Refusal is null && work.Topic.Holds == 0;
            work.Topic.Segment = isOver ? null : segment;
            if (segment is null && work.Refusal is null && _files.Remove(work.Topic.Notice.Number))
            {
                useless = work.Topic;
            }

            onNews = OnNews;
            if (!_isOver)
            {
                _answers.Enqueue((work.Topic.Notice.Number, segment is not null));
                _hasNews = true;
            }
        }

        if (isOver)
        {
            segment?.Dispose();
        }

        if (useless is not null)
        {
            Release(useless);
        }

        if (problem is not null && onNews is not null && !Interlocked.Exchange(ref _isRefusalTold, true))
        {
            OnRefused?.Invoke(problem);
        }

        onNews?.Invoke();
    }

    private sealed record Mapping(PeerTopics Topics, PeerTopic Topic, SafeHandle Handle, string? Refusal);
}

/// <summary>A topic that this side maps. Guarded by the lock of its owner.</summary>
internal sealed class PeerTopic(FileNotice notice)
{
    public FileNotice Notice => notice;

    /// <summary>The mapping; null before it.</summary>
    public TopicSegment? Segment { get; set; }

    /// <summary>The uses: one for the link, until the server drops the topic, and one for each stream.</summary>
    public int Holds { get; set; } = 1;
}
