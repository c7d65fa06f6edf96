namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>Publishes the messages of one slice to all readers, and takes the time of each call.</summary>
internal static class FeedLoad
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(10);

    /// <exception cref="TimeoutException">There are not as many readers as the order says.</exception>
    public static FeedPublished Run(FeedOrder order, IFeed feed)
    {
        if (!SpinWait.SpinUntil(() => feed.Subscribers == order.Subscribers, s_deadline))
        {
            throw new TimeoutException($"The feed has {feed.Subscribers} readers, not {order.Subscribers}.");
        }

        using var source = PumpMessages.OfSize(order.SizeBytes);
        var calls = new LatencyHistogram();
        long[] starts = new long[order.IsPaced ? order.Messages : 1];
        for (int i = 0; i < order.Messages; i++)
        {
            if (order.IsPaced)
            {
                Thread.Sleep(order.GapMilliseconds);
            }

            byte[] message = source.Next(order.First + i);
            long start = Stopwatch.GetTimestamp();
            feed.Publish(message);
            calls.Record(Stopwatch.GetTimestamp() - start);
            if (i < starts.Length)
            {
                starts[i] = start;
            }
        }

        return new FeedPublished(starts[0], (long)calls.Mean, (long)calls.ValueAt(0.5), starts);
    }
}
