namespace RpcOverShm.Topics;

/// <summary>
/// The newest messages of a topic as objects, for subscribers whose messages are written to their stream one by one.
/// </summary>
internal sealed class TopicMessages<T>(int capacity) : TopicBuffer<T>
    where T : class
{
    private readonly T?[] _messages = new T?[capacity];
    private long _tail;
    private long _published;
    private long _oldest;
    private TaskCompletionSource? _news;

    protected override long Tail => _tail;

    /// <summary>
    /// Reads the message at a subscriber's position, which stays until <see cref="TopicBuffer{TItem}.OnRead"/>. Skips
    /// messages that were overwritten. Otherwise returns null, and a task that ends when there is one.
    /// </summary>
    public T? TryRead(TopicSubscription subscription, out long lost, out Task news)
    {
        using (Enter())
        {
            PublishItems(); // those of a batch may have overwritten what this one is to read
            news = Task.CompletedTask;
            lost = _published - subscription.Position > capacity ? _published - 1 - subscription.Position : 0;
            subscription.Position += lost;
            if (subscription.Position < _published)
            {
                return _messages[subscription.Position % capacity];
            }

            news = (_news ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
            return null;
        }
    }

    protected override bool TryWriteItem(T item, long smallestHeld)
    {
        if (_tail - smallestHeld >= capacity)
        {
            return false;
        }

        _messages[_tail++ % capacity] = item;
        return true;
    }

    protected override long NeededPosition(T item) => _tail + 1 - capacity;

    protected override void PublishItems() => _published = _tail;

    protected override void ForgetItems()
    {
        _oldest = _tail;
        Array.Clear(_messages);
    }

    protected override TopicStart FindStart(bool isOldest)
    {
        long position = isOldest ? Math.Max(_oldest, _tail - capacity) : _tail;
        return new TopicStart(position, position);
    }

    protected override void WakeSubscribers()
    {
        _news?.TrySetResult();
        _news = null;
    }

    // Subscribers still get what was published before the end.
    protected override void Free()
    {
    }
}
