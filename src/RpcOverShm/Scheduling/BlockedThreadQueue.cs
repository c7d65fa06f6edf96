using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Work for a thread that blocks in calls: the thread runs it while it waits. Each item belongs to one of the calls.
/// Any thread adds. If the blocked thread makes no progress, because it runs a long item, threads of the pool help.
/// Thread-safe.
/// </summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "A timer that is not due holds nothing. The end of the thread is not told.")]
internal sealed class BlockedThreadQueue : IThreadPoolWorkItem
{
    // Each item that runs inside of another one takes stack, so a thread in so many takes no more.
    private const int MostNested = 16;

    // An item may wait for another one that is behind it in the queue, or block its thread elsewhere. Then threads of
    // the pool help, if there are any.
    private static readonly TimeSpan s_patience = TimeSpan.FromMilliseconds(20);

    private readonly LinkedList<(object Owner, IThreadPoolWorkItem Item)> _items = new();
    private readonly UninterruptibleLock _lock = new();
    private readonly BackgroundTimer _timer;
    private volatile bool _hasAny;
    private volatile int _nested; // items that run, each inside of the one before
    private long _runs;           // items so far
    private long _timedRun;       // the count when the timer was set
    private bool _isTimed;

    public BlockedThreadQueue() =>
        _timer = new BackgroundTimer(static queue => ((BlockedThreadQueue)queue!).OnTimer(), this);

    /// <summary>Whether there is work that the blocked thread may take.</summary>
    public bool HasAny => _hasAny && _nested < MostNested;

    /// <summary>Adds work of a call. Returns false if the thread runs too many items inside of each other.</summary>
    public bool TryAdd(object owner, IThreadPoolWorkItem item)
    {
        using (_lock.Enter())
        {
            if (_nested >= MostNested)
            {
                return false;
            }

            _items.AddLast((owner, item));
            _hasAny = true;
            SetTimerIfBusy();
        }

        return true;
    }

    /// <summary>Takes an item back. Returns false if it was taken before.</summary>
    public bool TryTakeBack(object owner, IThreadPoolWorkItem item)
    {
        using (_lock.Enter())
        {
            bool isHere = _items.Remove((owner, item));
            _hasAny = _items.Count > 0;
            return isHere;
        }
    }

    /// <summary>
    /// Runs the first item, if there is one, in the clean state of the library's threads: the thread's own contexts
    /// belong to the code that is blocked. Called by the blocked thread.
    /// </summary>
    /// <param name="onFailed">Handles an exception of the item.</param>
    public void RunOne(Action<Exception> onFailed)
    {
        if (!RuntimeHelpers.TryEnsureSufficientExecutionStack())
        {
            MoveToPool(owner: null);
            return;
        }

        if (TryTake() is not { } item)
        {
            return;
        }

        try
        {
            AmbientContext.RunClean(item);
        }
        catch (Exception exception)
        {
            onFailed(exception);
        }
        finally
        {
            _nested--;
        }
    }

    /// <summary>Moves the work of a call, or with null all work, to the thread pool.</summary>
    public void MoveToPool(object? owner)
    {
        if (!_hasAny)
        {
            return;
        }

        using (_lock.Enter())
        {
            for (LinkedListNode<(object Owner, IThreadPoolWorkItem Item)>? node = _items.First; node is not null;)
            {
                LinkedListNode<(object Owner, IThreadPoolWorkItem Item)> one = node;
                node = node.Next;
                if (owner is null || one.Value.Owner == owner)
                {
                    _items.Remove(one);
                    PoolWork.Queue(one.Value.Item);
                }
            }

            _hasAny = _items.Count > 0;
        }
    }

    /// <summary>Helps the blocked thread with one item, on the thread pool.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        IThreadPoolWorkItem? item;
        using (_lock.Enter())
        {
            item = TakeFirst();
        }

        item?.Execute();
    }

    private IThreadPoolWorkItem? TryTake()
    {
        using (_lock.Enter())
        {
            if (TakeFirst() is not { } item)
            {
                return null;
            }

            _nested++;
            _runs++;
            SetTimerIfBusy();
            return item;
        }
    }

    // Under the lock.
    private IThreadPoolWorkItem? TakeFirst()
    {
        if (_items.First is not { } first)
        {
            return null;
        }

        _items.RemoveFirst();
        _hasAny = _items.Count > 0;
        return first.Value.Item;
    }

    // Under the lock.
    private void SetTimerIfBusy()
    {
        if (_nested > 0 && _items.Count > 0 && !_isTimed)
        {
            _isTimed = true;
            _timedRun = _runs;
            _timer.Change(s_patience, Timeout.InfiniteTimeSpan);
        }
    }

    private void OnTimer()
    {
        using (_lock.Enter())
        {
            _isTimed = false;
            if (_runs != _timedRun || _nested == 0)
            {
                SetTimerIfBusy();
                return;
            }

            for (int i = 0; i < _items.Count; i++)
            {
                PoolWork.Queue(this);
            }
        }
    }
}
