namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// Blocks threads of the pool in calls, and meanwhile queues an empty work item to the pool every few milliseconds: the
/// other work of the program, which waits for a thread.
/// </summary>
internal static class PoolLoad
{
    private const int MillisecondsBetweenItems = 5;

    /// <param name="call">Makes a blocking call that is answered after so many milliseconds.</param>
    /// <param name="tasks">The tasks of the pool, each with one call.</param>
    /// <param name="milliseconds">The time of a call.</param>
    public static PoolResult Run(Action<int> call, int tasks, int milliseconds)
    {
        // Connects, and compiles what a call needs.
        call(0);
        long start = Stopwatch.GetTimestamp();
        Task[] calls = [.. Enumerable.Range(0, tasks).Select(_ => Task.Run(() => call(milliseconds)))];
        var all = Task.WhenAll(calls);
        long latest = 0;
        long elapsed = 0;
        var asking = new Thread(() =>
        {
            while (Task.WaitAny([all], MillisecondsBetweenItems) < 0)
            {
                long queued = Stopwatch.GetTimestamp();
                ThreadPool.UnsafeQueueUserWorkItem(_ => NoteLate(ref latest, queued), null);
            }

            elapsed = Stopwatch.GetTimestamp() - start;
        });
        asking.Start();
        asking.Join();
        all.GetAwaiter().GetResult();

        // The items run in their order, so those before this one have run.
        using var last = new ManualResetEventSlim();
        ThreadPool.UnsafeQueueUserWorkItem(_ => last.Set(), null);
        last.Wait();
        return new PoolResult(Volatile.Read(ref latest), elapsed);
    }

    private static void NoteLate(ref long latest, long queued)
    {
        long late = Stopwatch.GetTimestamp() - queued;
        long known;
        while (late > (known = Volatile.Read(ref latest)))
        {
            Interlocked.CompareExchange(ref latest, late, known);
        }
    }
}

/// <summary>The result of a load that blocks threads of the pool.</summary>
/// <param name="LatestTicks">The longest time from an item's queueing until it ran.</param>
/// <param name="ElapsedTicks">The time until all calls were answered.</param>
internal readonly record struct PoolResult(long LatestTicks, long ElapsedTicks);
