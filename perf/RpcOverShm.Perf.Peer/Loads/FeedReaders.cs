namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// The readers of a feed in this process. They read until it ends, and check what they get by the slice of the moment.
/// </summary>
internal sealed class FeedReaders
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(25);

    private readonly List<FeedReader> _readers = [];
    private volatile FeedSlice? _slice;

    /// <summary>What is published now; null before the first slice.</summary>
    public FeedSlice? Slice => _slice;

    /// <summary>Opens further subscriptions on the channel of a client, up to a number.</summary>
    public void Widen(IArmClient client, long count)
    {
        while (_readers.Count < count)
        {
            var reader = new FeedReader(this);
            client.SubscribeAsync(reader).GetAwaiter().GetResult();
            _readers.Add(reader);
        }
    }

    /// <summary>Says what will be published, before it is.</summary>
    public void Expect(FeedOrder order) => _slice = new FeedSlice(order, _readers.Count);

    /// <summary>Waits until all readers have all of it.</summary>
    /// <exception cref="TimeoutException">One has not, after a long time.</exception>
    public FeedTaken Take() => Slice is { } slice && slice.Done.Wait(s_deadline)
        ? slice.Taken
        : throw new TimeoutException($"Not all of {_readers.Count} readers got the last message: {_slice?.Taken}");
}

/// <summary>The messages of a slice, and what the readers of this process got. Thread-safe.</summary>
internal sealed class FeedSlice(FeedOrder order, int readers)
{
    private readonly Lock _lock = new();
    private readonly long[] _lastTicks = new long[order.IsPaced ? order.Messages : 1];
    private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _reading = readers;
    private long _messages;
    private long _wrongBytes;
    private long _gaps;

    public FeedOrder Order => order;

    /// <summary>Ends when the last reader has the last message.</summary>
    public Task Done => _done.Task;

    public FeedTaken Taken
    {
        get
        {
            lock (_lock)
            {
                return new FeedTaken(_messages, _wrongBytes, _gaps, _lastTicks);
            }
        }
    }

    /// <summary>Keeps the time of a message, if that is asked for.</summary>
    public void Note(long index)
    {
        if (order.IsPaced || index == order.Messages - 1)
        {
            ref long last = ref _lastTicks[order.IsPaced ? index : 0];
            long now = Stopwatch.GetTimestamp();
            for (long seen = Volatile.Read(ref last); seen < now;)
            {
                long found = Interlocked.CompareExchange(ref last, now, seen);
                seen = found == seen ? now : found;
            }
        }
    }

    /// <summary>Adds what a reader got that has the last message.</summary>
    public void Finish(long messages, long wrongBytes, long gaps)
    {
        lock (_lock)
        {
            _messages += messages;
            _wrongBytes += wrongBytes;
            _gaps += gaps;
            if (--_reading == 0)
            {
                _done.SetResult();
            }
        }
    }
}

/// <summary>One reader: checks that each message is the one after the last, and every byte. One at a time.</summary>
internal sealed class FeedReader(FeedReaders all)
{
    private FeedSlice? _slice;
    private long _next; // of the slice
    private long _messages;
    private long _wrongBytes;
    private long _gaps;

    public void Take(ReadOnlySpan<byte> payload)
    {
        FeedSlice slice = all.Slice ?? throw new InvalidOperationException("Nothing was to be published.");
        if (slice != _slice)
        {
            _slice = slice;
            _next = _messages = _wrongBytes = _gaps = 0;
        }

        FeedOrder order = slice.Order;
        long index = payload.Length < sizeof(long)
            ? _next
            : BinaryPrimitives.ReadInt64LittleEndian(payload) - order.First;
        _gaps += index == _next ? 0 : 1;
        _wrongBytes += PayloadPattern.CountWrong(payload, order.First + index, order.SizeBytes);
        _next = index + 1;
        _messages++;
        if (index >= 0 && index < order.Messages)
        {
            slice.Note(index);
            if (_next == order.Messages)
            {
                slice.Finish(_messages, _wrongBytes, _gaps);
            }
        }
    }
}
