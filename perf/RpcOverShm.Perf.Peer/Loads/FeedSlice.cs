namespace RpcOverShm.Perf.Peer.Loads;

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
