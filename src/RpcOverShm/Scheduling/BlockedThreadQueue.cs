namespace RpcOverShm.Scheduling;

/// <summary>
/// Work for a thread that is blocked in a call: the thread runs it while it waits. Any thread adds; only the blocked
/// one takes. Thread-safe.
/// </summary>
internal sealed class BlockedThreadQueue
{
    // Each item that runs inside of another one takes stack, so a thread in so many takes no further ones.
    private const int MostNested = 16;

    private readonly LinkedList<IThreadPoolWorkItem> _items = new();
    private volatile bool _hasAny;
    private volatile int _nested;

    /// <summary>Whether there is work. A hint for all threads but the one that adds.</summary>
    public bool HasAny => _hasAny;

    /// <summary>Adds work. Returns false if the thread runs too many items inside of each other.</summary>
    public bool TryAdd(IThreadPoolWorkItem item)
    {
        if (_nested >= MostNested)
        {
            return false;
        }

        lock (_items)
        {
            _items.AddLast(item);
            _hasAny = true;
        }

        return true;
    }

    /// <summary>Takes an item back. Returns false if the thread has it already.</summary>
    public bool TryTakeBack(IThreadPoolWorkItem item)
    {
        lock (_items)
        {
            bool isHere = _items.Remove(item);
            _hasAny = _items.Count > 0;
            return isHere;
        }
    }

    /// <summary>
    /// Runs all work, on the clean execution context and without a synchronization context: the thread's own ones
    /// belong to the call in which it is blocked. An exception goes to <paramref name="onFailed"/>.
    /// </summary>
    public void RunAll(Action<Exception> onFailed)
    {
        _nested++;
        try
        {
            while (TryTake() is { } item)
            {
                try
                {
                    AmbientContext.RunClean(item);
                }
                catch (Exception exception)
                {
                    onFailed(exception);
                }
            }
        }
        finally
        {
            _nested--;
        }
    }

    /// <summary>Moves all work to the thread pool, because the thread waits no longer.</summary>
    public void MoveToPool()
    {
        while (TryTake() is { } item)
        {
            ThreadPool.UnsafeQueueUserWorkItem(item, preferLocal: false);
        }
    }

    private IThreadPoolWorkItem? TryTake()
    {
        lock (_items)
        {
            IThreadPoolWorkItem? first = _items.First?.Value;
            if (first is not null)
            {
                _items.RemoveFirst();
            }

            _hasAny = _items.Count > 0;
            return first;
        }
    }
}
