namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// Sends batches of calls one after another for the time of a slice. The clock of a batch runs from recording its first
/// call until the last answer has arrived; requests are filled before, and answers are checked afterwards.
/// </summary>
internal static class BatchLoad
{
    public static LoadResult Run(LoadOrder order, IBatch batch)
    {
        int calls = (int)order.Calls;
        long all = 0;
        long wrong = 0;
        long elapsed = 0;
        var times = new LatencyHistogram();
        ResourceSample used = default;
        long first = Stopwatch.GetTimestamp();
        long startTick = first + (long)(order.LeadIn.TotalSeconds * Stopwatch.Frequency);
        long endTick = startTick + (long)(order.Duration.TotalSeconds * Stopwatch.Frequency);
        do
        {
            batch.Prepare(calls, order);
            ResourceSample before = ResourceSample.Take();
            long start = Stopwatch.GetTimestamp();
            Task.Run(batch.CallAsync).GetAwaiter().GetResult();
            long end = Stopwatch.GetTimestamp();
            if (start >= startTick)
            {
                used += ResourceSample.Take() - before;
                elapsed += end - start;
                times.Record((end - start) / calls, calls);
            }

            wrong += batch.CountWrong();
            all += calls;
        }
        while (times.Count == 0 || Stopwatch.GetTimestamp() < endTick);
        return new LoadResult
        {
            All = all,
            FirstTick = first,
            ElapsedTicks = elapsed,
            WrongBytes = wrong,
            Used = used,
            Times = times,
        };
    }
}
