using Grpc.Core;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Topics;

/// <summary>
/// The newest items of a topic, of one form, with the subscribers that read them: who publishes writes each item once,
/// waits for subscribers that ask for that, and wakes those that sleep. Thread-safe.
/// </summary>
internal abstract partial class TopicBuffer<TItem> : IDisposable
{
    [ThreadStatic]
    private static List<PassedTopics>? s_toRing;

    private readonly UninterruptibleLock _lock = new();
    private readonly SemaphoreSlim _order = new(1, 1); // of publishers that wait for slow subscribers
    private readonly HashSet<TopicSubscription> _subscriptions = [];
    private readonly Dictionary<PassedTopics, int> _uses = []; // subscribers of each client
    private PassedTopics[] _clients = []; // the keys of that
    private int _count;
    private long _smallestHeld = long.MaxValue; // a lower bound of what subscribers that are waited for have read
    private TaskCompletionSource? _room; // publishers wait for it
    private long _needed;                // the position that the publisher in turn waits for
    private int _queued;                 // publishers that wait for their turn
    private bool _isOver;

    /// <summary>The number of subscribers. A hint.</summary>
    public int Subscribers => Volatile.Read(ref _count);

    /// <summary>The position behind the last item.</summary>
    protected abstract long Tail { get; }

    /// <summary>
    /// Adds a subscriber, at the next item or at the oldest one. Returns false if the topic has ended.
    /// </summary>
    public bool TryAdd(TopicSubscription subscription, bool isOldest)
    {
        using (_lock.Enter())
        {
            if (_isOver)
            {
                return false;
            }

            PublishItems();
            subscription.StartAt(FindStart(isOldest));
            if (subscription.IsWaitedFor)
            {
                _smallestHeld = Math.Min(_smallestHeld, subscription.Position);
            }

            _subscriptions.Add(subscription);
            Count(subscription, 1);
            return true;
        }
    }

    /// <summary>Takes a subscriber out. Returns the position behind the last item that it gets.</summary>
    public long Remove(TopicSubscription subscription)
    {
        List<PassedTopics> toRing;
        long end;
        using (_lock.Enter())
        {
            toRing = Flush();
            end = Tail;
            _subscriptions.Remove(subscription);
            Count(subscription, -1);
            if (_subscriptions.Count == 0)
            {
                ForgetItems(); // nothing is written before the next subscriber comes
            }

            SignalRoom();
        }

        Ring(toRing);
        return end;
    }

    /// <summary>Takes the position up to which a subscriber has read.</summary>
    /// <exception cref="ProtocolException">It was there before, or nothing is written there.</exception>
    public void OnRead(TopicSubscription subscription, long position)
    {
        using (_lock.Enter())
        {
            if (position < subscription.Position || position > Tail)
            {
                throw new ProtocolException(
                    $"The peer has read a topic up to {position}; it was at {subscription.Position}, and the end is at "
                    + $"{Tail}.");
            }

            bool wasInTheWay = subscription.Position < _needed;
            subscription.MoveTo(position);
            if (wasInTheWay && position >= _needed)
            {
                SignalRoom();
            }
        }
    }

    /// <summary>
    /// Writes an item without waiting. Returns false if it must wait for a slow subscriber, or behind other publishers.
    /// </summary>
    /// <param name="item">The item.</param>
    /// <param name="isLast">Whether subscribers may see it now. A batch has this only for its last item.</param>
    public bool TryWrite(TItem item, bool isLast)
    {
        List<PassedTopics>? toRing = null;
        bool isWritten;
        using (_lock.Enter())
        {
            isWritten = _queued == 0 && TryWriteInTurn(item);
            if (isLast || !isWritten)
            {
                toRing = Flush();
            }
        }

        Ring(toRing);
        return isWritten;
    }

    /// <summary>Lets subscribers see what was written.</summary>
    public void Publish()
    {
        List<PassedTopics> toRing;
        using (_lock.Enter())
        {
            toRing = Flush();
        }

        Ring(toRing);
    }

    /// <summary>Ends all subscribers, and frees the memory.</summary>
    public void End(in Status status)
    {
        List<PassedTopics> toRing;
        using (_lock.Enter())
        {
            if (_isOver)
            {
                return;
            }

            toRing = Flush();
            _isOver = true;
            foreach (TopicSubscription subscription in _subscriptions)
            {
                subscription.End(status);
            }

            SignalRoom();
            Free();
        }

        Ring(toRing);
    }

    public void Dispose() => End(Status.DefaultSuccess);

    /// <summary>Enters the lock of the items.</summary>
    protected UninterruptibleLock.Holding Enter() => _lock.Enter();

    /// <summary>
    /// Writes an item behind the last one. Returns false if items that a subscriber holds are in the way. Under the
    /// lock, like all others.
    /// </summary>
    /// <param name="item">The item.</param>
    /// <param name="smallestHeld">The position from which on items must stay.</param>
    protected abstract bool TryWriteItem(TItem item, long smallestHeld);

    /// <summary>The smallest position that subscribers must have read before the item has room.</summary>
    protected abstract long NeededPosition(TItem item);

    /// <summary>Lets subscribers see the items that were written: a full fence, if there are any.</summary>
    protected abstract void PublishItems();

    /// <summary>Lets no subscriber begin with an item that was written before.</summary>
    protected abstract void ForgetItems();

    /// <summary>The position and the sequence of the next item, or of the oldest.</summary>
    protected abstract TopicStart FindStart(bool isOldest);

    /// <summary>Frees the memory of the items, which nobody writes any more.</summary>
    protected abstract void Free();

    /// <summary>The items are published: wakes subscribers of this process.</summary>
    protected virtual void WakeSubscribers()
    {
    }

    // Under the lock. Returns the clients to ring after it.
    private List<PassedTopics> Flush()
    {
        List<PassedTopics> toRing = s_toRing ??= [];
        if (_isOver)
        {
            return toRing;
        }

        PublishItems();
        foreach (PassedTopics client in _clients)
        {
            if (client.MustRing)
            {
                toRing.Add(client);
            }
        }

        WakeSubscribers();
        return toRing;
    }

    private static void Ring(List<PassedTopics>? clients)
    {
        if (clients is { Count: > 0 })
        {
            clients.ForEach(static client => client.Ring());
            clients.Clear();
        }
    }

    // Under the lock.
    private void Count(TopicSubscription subscription, int change)
    {
        Volatile.Write(ref _count, _subscriptions.Count);
        if (subscription.Client is { } client)
        {
            int uses = _uses.GetValueOrDefault(client) + change;
            _uses[client] = uses;
            if (uses == 0)
            {
                _uses.Remove(client);
            }

            if (uses == 0 || (uses == 1 && change > 0))
            {
                _clients = [.. _uses.Keys];
            }
        }
    }

    // Under the lock.
    private void SignalRoom()
    {
        _room?.TrySetResult();
        _room = null;
    }

    // Under the lock. Without subscribers the item is dropped.
    private bool TryWriteInTurn(TItem item)
    {
        ObjectDisposedException.ThrowIf(_isOver, this);
        if (_subscriptions.Count == 0 || TryWriteItem(item, _smallestHeld))
        {
            return true;
        }

        _smallestHeld = FindSmallestHeld();
        return TryWriteItem(item, _smallestHeld);
    }

    private long FindSmallestHeld()
    {
        long smallest = long.MaxValue;
        foreach (TopicSubscription one in _subscriptions)
        {
            if (one.IsWaitedFor && one.Position < smallest)
            {
                smallest = one.Position;
            }
        }

        return smallest;
    }
}
