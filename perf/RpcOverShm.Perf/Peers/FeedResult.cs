namespace RpcOverShm.Perf.Peers;

/// <summary>One slice of a feed, as its publisher and the processes of its readers saw it.</summary>
internal sealed record FeedResult(
    FeedOrder Order,
    FeedPublished Published,
    IReadOnlyList<FeedTaken> Taken,
    ResourceSample PublisherUsed,
    ResourceSample ReadersUsed)
{
    private static readonly double s_ticksPerMicrosecond = Stopwatch.Frequency / 1e6;

    private double Deliveries => (double)Order.Messages * Order.Subscribers;

    /// <summary>The mean and the median time of a call that publishes.</summary>
    public double MeanPublishUs => Published.MeanTicks / s_ticksPerMicrosecond;

    /// <inheritdoc cref="MeanPublishUs"/>
    public double MedianPublishUs => Published.MedianTicks / s_ticksPerMicrosecond;

    /// <summary>The processor time of the publisher's process for each message, all its threads.</summary>
    public double PublisherCpuUs => (double)PublisherUsed.CpuMicroseconds / Order.Messages;

    /// <summary>The processor time of all processes for each message and reader.</summary>
    public double CpuUsPerDelivery =>
        (PublisherUsed.CpuMicroseconds + ReadersUsed.CpuMicroseconds) / Deliveries;

    /// <summary>The time from the first publication until the last reader has the last message, for each.</summary>
    public double UsPerDelivery =>
        (Taken.Max(taken => taken.LastTicks[^1]) - Published.FirstTick) / s_ticksPerMicrosecond / Deliveries;

    /// <summary>The time of each message of a paced slice, from its publication until the last reader has it.</summary>
    public IEnumerable<double> LatenciesUs => Published.Starts.Select(
        (start, index) => (Taken.Max(taken => taken.LastTicks[index]) - start) / s_ticksPerMicrosecond);

    /// <summary>Returns null if every reader had every message right, else the problem.</summary>
    public string? Problem()
    {
        (long messages, long wrong, long gaps) =
            (Taken.Sum(taken => taken.Messages), Taken.Sum(taken => taken.WrongBytes), Taken.Sum(taken => taken.Gaps));
        return wrong == 0 && gaps == 0 && messages == (long)Order.Messages * Order.Subscribers
            ? null
            : $"{Order.Subscribers} readers got {messages} of {Order.Messages} messages each, {wrong} bytes wrong, "
            + $"with {gaps} gaps";
    }
}
