using System.Diagnostics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// An action that runs once when a time has passed, unless it is disposed before that. It runs on the thread of the
/// watchdog, so it neither waits nor runs user code. A timer of .NET would run it on the thread pool, where user code
/// may have taken every thread. The action never runs early, and the clock is monotonic: setting the wall clock moves
/// nothing. An action for which there is no memory runs again after a pause. Thread-safe.
/// </summary>
internal sealed class DueTime : IDisposable
{
    // Threads that begin calls at once rarely meet at the same lock.
    private static readonly Shard[] s_shards = CreateShards();

    // Of each shard, before those of the others and the checks of the watchdog have their turn. A peer can have many.
    private const int MostInARow = 32;

    private static readonly long s_pauseAfterFailure = Stopwatch.Frequency / 10;

    private readonly Shard _shard = s_shards[Environment.CurrentManagedThreadId % s_shards.Length];
    private readonly long _at;
    private Action? _onDue; // null once it was taken or disposed; guarded by the shard

    /// <summary>Starts the time. With a time of zero or less, the action is due at once.</summary>
    public DueTime(TimeSpan time, Action onDue)
    {
        _at = After(time);
        _onDue = onDue;
        if (_shard.Add(this))
        {
            Watchdog.WakeBy(_at);
        }
    }

    /// <summary>The remaining time; zero or less once it has passed.</summary>
    public TimeSpan Remaining => Until(_at);

    /// <summary>The time stamp at which the next action is due, or an earlier one; the maximum for none.</summary>
    public static long Earliest
    {
        get
        {
            long earliest = long.MaxValue;
            foreach (Shard shard in s_shards)
            {
                earliest = Math.Min(earliest, shard.Earliest);
            }

            return earliest;
        }
    }

    /// <summary>Returns the time stamp of the monotonic clock at the end of a time.</summary>
    public static long After(TimeSpan time) => Stopwatch.GetTimestamp()
        + (long)Math.Min(time.TotalSeconds * Stopwatch.Frequency, long.MaxValue / 4);

    /// <summary>Returns the time from now to a time stamp; zero or less once it has passed.</summary>
    public static TimeSpan Until(long at) => Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), at);

    /// <summary>
    /// Runs actions that are due, but not very many: others may be due afterwards, as <see cref="Earliest"/> then says.
    /// Called by the watchdog.
    /// </summary>
    public static void RunDue()
    {
        foreach (Shard shard in s_shards)
        {
            for (int run = 0; run < MostInARow && shard.Earliest <= Stopwatch.GetTimestamp(); run++)
            {
                if (shard.TakeDue() is var (due, action))
                {
                    due.Run(action);
                }
            }
        }
    }

    /// <summary>Keeps the action from running, unless it has begun to run.</summary>
    public void Dispose() => _shard.Remove(this);

    private void Run(Action action)
    {
        try
        {
            action();
        }
        catch (OutOfMemoryException)
        {
            _shard.PutBack(this, action);
        }
    }

    private static Shard[] CreateShards()
    {
        var shards = new Shard[Environment.ProcessorCount];
        for (int i = 0; i < shards.Length; i++)
        {
            shards[i] = new Shard();
        }

        return shards;
    }

    /// <summary>A part of all due times. The queue keeps disposed ones, until they are too many.</summary>
    private sealed class Shard
    {
        private const int MostDisposed = 64;

        private readonly UninterruptibleLock _lock = new();
        private readonly PriorityQueue<DueTime, long> _queue = new();
        private long _earliest = long.MaxValue; // of the queue; written under the lock
        private int _disposed;                  // due times in the queue that were disposed

        public long Earliest => Volatile.Read(ref _earliest);

        /// <summary>Returns whether no due time of this shard is earlier.</summary>
        public bool Add(DueTime due)
        {
            using (_lock.Enter())
            {
                _queue.Enqueue(due, due._at);
                return SetEarliest(due._at);
            }
        }

        public void PutBack(DueTime due, Action action)
        {
            using (_lock.Enter())
            {
                due._onDue = action;
                long at = Stopwatch.GetTimestamp() + s_pauseAfterFailure;
                _queue.Enqueue(due, at);
                SetEarliest(at);
            }
        }

        public void Remove(DueTime due)
        {
            using (_lock.Enter())
            {
                if (due._onDue is null)
                {
                    return;
                }

                due._onDue = null;
                _disposed++;
                if (_disposed > MostDisposed && _disposed > _queue.Count / 2)
                {
                    DropDisposed();
                }
            }
        }

        public (DueTime Due, Action Action)? TakeDue()
        {
            using (_lock.Enter())
            {
                while (_queue.TryPeek(out DueTime? first, out long at))
                {
                    if (first._onDue is not { } action)
                    {
                        _disposed--;
                    }
                    else if (at <= Stopwatch.GetTimestamp())
                    {
                        first._onDue = null;
                        _queue.Dequeue();
                        return (first, action);
                    }
                    else
                    {
                        _earliest = at;
                        return null;
                    }

                    _queue.Dequeue();
                }

                _earliest = long.MaxValue;
                return null;
            }
        }

        // Under the lock. Returns whether the time is the earliest.
        private bool SetEarliest(long at)
        {
            if (at >= _earliest)
            {
                return false;
            }

            Volatile.Write(ref _earliest, at);
            return true;
        }

        // Under the lock. The earliest time stays: the watchdog then looks once in vain.
        private void DropDisposed()
        {
            (DueTime, long)[] living = [.. _queue.UnorderedItems.Where(static item => item.Element._onDue is not null)];
            _queue.Clear();
            _queue.EnqueueRange(living);
            _disposed = 0;
        }
    }
}
