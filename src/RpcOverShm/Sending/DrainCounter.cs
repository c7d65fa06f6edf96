namespace RpcOverShm.Sending;

/// <summary>
/// Counts calls or methods that live, and tells a side that leaves when none is left. One thread at a time adds and one
/// at a time removes, so neither needs an interlocked operation; any thread may look and wait.
/// </summary>
internal sealed class DrainCounter
{
    private readonly Lock _gate = new();
    private long _added;   // calls so far
    private long _removed; // of those
    private TaskCompletionSource? _drained;

    /// <summary>How many live. If some begin or end meanwhile, perhaps a few more.</summary>
    public int Count
    {
        get
        {
            // In this order, so that it is never less than there are.
            long removed = Volatile.Read(ref _removed);
            return (int)(Volatile.Read(ref _added) - removed);
        }
    }

    /// <summary>Counts one more. By the thread that adds.</summary>
    public void Add() => Volatile.Write(ref _added, _added + 1);

    /// <summary>Counts one less. By the thread that removes.</summary>
    public void Remove()
    {
        Volatile.Write(ref _removed, _removed + 1);
        CheckDrained();
    }

    /// <summary>The same, where several threads remove at a time: an interlocked operation.</summary>
    public void RemoveByAnyThread()
    {
        Interlocked.Increment(ref _removed);
        CheckDrained();
    }

    /// <summary>Takes an <see cref="Add"/> back. By the thread that adds.</summary>
    public void Withdraw()
    {
        Volatile.Write(ref _added, _added - 1);
        if (Volatile.Read(ref _drained) is not null)
        {
            // Else this and a removal could each miss the other. Only a side that leaves pays for this system call.
            Interlocked.MemoryBarrierProcessWide();
            CheckDrained();
        }
    }

    /// <summary>Completes when none lives. Calls that begin meanwhile are waited for too.</summary>
    public Task WhenEmptyAsync()
    {
        lock (_gate)
        {
            // Made before the count is read: a call that ends meanwhile sees it. The asymmetric fence stands for both
            // sides, since this one is seldom here and the other has a call to make.
            Interlocked.CompareExchange(
                ref _drained, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously), null);
            Interlocked.MemoryBarrierProcessWide();
            return Count == 0 ? Task.CompletedTask : _drained.Task;
        }
    }

    private void CheckDrained()
    {
        if (Volatile.Read(ref _drained) is null || Count > 0)
        {
            return;
        }

        lock (_gate)
        {
            // A later question waits for the calls of its own time.
            _drained?.TrySetResult();
            _drained = null;
        }
    }
}
