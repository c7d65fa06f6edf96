namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// Sends the messages of one slice to the server. The clock runs from the first to the server's word that it has all.
/// </summary>
internal static class DrainLoad
{
    public static LoadResult Run(LoadOrder order, IDrain drain)
    {
        Send(order, drain, order.LeadInMessages);
        ResourceSample before = ResourceSample.Take();
        long start = Stopwatch.GetTimestamp();
        Send(order, drain, order.Messages);
        long elapsed = Stopwatch.GetTimestamp() - start;
        var times = new LatencyHistogram();
        times.Record(elapsed / order.Messages, order.Messages);
        return new LoadResult
        {
            All = order.LeadInMessages + order.Messages,
            FirstTick = start,
            ElapsedTicks = elapsed,
            WrongBytes = 0,
            Used = ResourceSample.Take() - before,
            Times = times,
        };
    }

    private static void Send(LoadOrder order, IDrain drain, long messages)
    {
        if (order.Caller == CallerKind.Blocking)
        {
            drain.Send(messages, order.SizeBytes);
        }
        else
        {
            Task.Run(() => drain.SendAsync(messages, order.SizeBytes)).GetAwaiter().GetResult();
        }
    }
}
