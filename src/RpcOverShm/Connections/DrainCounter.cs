using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Connections;

/// <summary>
/// Counts active calls or methods, and completes a task when the count is 0. One thread at a time adds. One thread at a
/// time removes, except with <see cref="RemoveByAnyThread"/>, which is interlocked. Any thread may read the count or
/// wait.
/// </summary>
internal sealed class DrainCounter
{
    private readonly UninterruptibleLock _lock = new();
    private long _added;     // calls added so far
    private long _withdrawn; // of these, calls taken back
    private long _removed;   // calls removed so far
    private TaskCompletionSource? _drained;

    /// <summary>The number of active calls. Concurrent changes can make it too high, never too low.</summary>
    public int Count
    {
        get
        {
            // Read first: a later read of _removed or _withdrawn could make the difference too low.
            long removed = Volatile.Read(ref _removed) + Volatile.Read(ref _withdrawn);
            return (int)(Volatile.Read(ref _added) - removed);
        }
    }

    /// <summary>The number of calls so far, without those that were taken back.</summary>
    public long Total
    {
        get
        {
            // Read first, for the same reason.
            long withdrawn = Volatile.Read(ref _withdrawn);
            return Volatile.Read(ref _added) - withdrawn;
        }
    }

    /// <summary>
    /// The number of additions, withdrawals and removals so far. It only grows, so that a call which began or ended
    /// between two reads always shows.
    /// </summary>
    public long Changes =>
        Volatile.Read(ref _added) + Volatile.Read(ref _withdrawn) + Volatile.Read(ref _removed);

    /// <summary>Counts one more. Additions are serialised by the caller.</summary>
    public void Add() => Volatile.Write(ref _added, _added + 1);

    /// <summary>Counts one less. Removals are serialised by the caller.</summary>
    public void Remove()
    {
        Volatile.Write(ref _removed, _removed + 1);
        CompleteIfDrained();
    }

    /// <summary>Counts one less, interlocked: for counters that several threads remove from at once.</summary>
    public void RemoveByAnyThread()
    {
        Interlocked.Increment(ref _removed);
        CompleteIfDrained();
    }

    /// <summary>Takes an <see cref="Add"/> back. Serialised with additions by the caller.</summary>
    public void Withdraw()
    {
        Volatile.Write(ref _withdrawn, _withdrawn + 1);
        if (Volatile.Read(ref _drained) is not null)
        {
            // Without a fence, this thread and a thread that removes could each miss the store of the other. The system
            // call happens only while a task waits.
            HostSystem.Current.FenceProcess();
            CompleteIfDrained();
        }
    }

    /// <summary>Returns a task that completes when the count is 0. Calls that are added before that delay it.</summary>
    public Task WhenEmptyAsync()
    {
        using (_lock.Enter())
        {
            // StoreLoad: the task source is stored before the count is read, so a removing thread sees it or this
            // thread sees the removal. The process-wide barrier fences both sides: draining is rare, and removals stay
            // cheap.
            Interlocked.CompareExchange(
                ref _drained, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously), null);
            HostSystem.Current.FenceProcess();
            return Count == 0 ? Task.CompletedTask : _drained.Task;
        }
    }

    private void CompleteIfDrained()
    {
        if (Volatile.Read(ref _drained) is null || Count > 0)
        {
            return;
        }

        using (_lock.Enter())
        {
            // Counted again: another thread may have completed that task before this one got the lock. The source may
            // then belong to a later WhenEmptyAsync, whose calls are still live.
            if (Count == 0)
            {
                _drained?.TrySetResult();
                _drained = null;
            }
        }
    }
}
