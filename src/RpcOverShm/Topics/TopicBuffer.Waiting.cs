using System.Diagnostics;

namespace RpcOverShm.Topics;

/// <content>Publishers that wait for slow subscribers, one after the other.</content>
internal abstract partial class TopicBuffer<TItem>
{
    /// <summary>Writes an item after <see cref="TryWrite"/> has failed; blocks until then.</summary>
    public void WriteLater(TItem item)
    {
        EnterQueue();
        try
        {
            _order.Wait();
            try
            {
                while (!TryWriteOrWait(item, out Task room, out TimeSpan patience))
                {
                    long begun = Stopwatch.GetTimestamp();
                    room.Wait(patience);
                    EndWait(Stopwatch.GetElapsedTime(begun));
                }
            }
            finally
            {
                _order.Release();
            }
        }
        finally
        {
            LeaveQueue();
        }
    }

    /// <summary>Writes an item after <see cref="TryWrite"/> has failed.</summary>
    public async Task WriteLaterAsync(TItem item, CancellationToken cancellationToken)
    {
        EnterQueue();
        try
        {
            await _order.WaitAsync(cancellationToken).ConfigureAwait(false);
            try
            {
                while (!TryWriteOrWait(item, out Task room, out TimeSpan patience))
                {
                    long begun = Stopwatch.GetTimestamp();
                    Task wait = room.WaitAsync(patience, cancellationToken);
                    await wait.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                    EndWait(Stopwatch.GetElapsedTime(begun));
                    cancellationToken.ThrowIfCancellationRequested();
                }
            }
            finally
            {
                _order.Release();
            }
        }
        finally
        {
            LeaveQueue();
        }
    }

    private void EnterQueue()
    {
        using (_lock.Enter())
        {
            _queued++;
        }
    }

    private void LeaveQueue()
    {
        using (_lock.Enter())
        {
            _queued--;
        }
    }

    private bool TryWriteOrWait(TItem item, out Task room, out TimeSpan patience)
    {
        room = Task.CompletedTask;
        patience = TimeSpan.Zero;
        List<PassedTopics> toRing;
        bool isWritten;
        using (_lock.Enter())
        {
            isWritten = TryWriteInTurn(item);
            toRing = Flush();
            if (!isWritten)
            {
                _needed = NeededPosition(item);
                patience = BeginWait(_needed);
                room = (_room ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
            }
        }

        Ring(toRing);
        return isWritten;
    }

    private TimeSpan BeginWait(long needed)
    {
        TimeSpan patience = TimeSpan.MaxValue;
        foreach (TopicSubscription one in _subscriptions)
        {
            if (one.IsWaitedFor && one.Position < needed)
            {
                one.BeginWait(Tail);
                patience = one.Patience < patience ? one.Patience : patience;
            }
        }

        return patience > TimeSpan.Zero ? patience : TimeSpan.Zero;
    }

    private void EndWait(TimeSpan waited)
    {
        using (_lock.Enter())
        {
            foreach (TopicSubscription one in _subscriptions)
            {
                one.EndWait(waited);
            }
        }
    }
}
