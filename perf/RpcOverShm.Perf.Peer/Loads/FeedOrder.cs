namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>One slice of a feed: what its server publishes, and what every reader must get.</summary>
/// <param name="First">The number of the first message.</param>
/// <param name="Messages">The number of messages.</param>
/// <param name="SizeBytes">The size of each.</param>
/// <param name="GapMilliseconds">The sleep before each; 0 for as fast as the arm takes them.</param>
/// <param name="Subscribers">The readers of all processes: nothing is published before there are as many.</param>
internal sealed record FeedOrder(long First, int Messages, int SizeBytes, int GapMilliseconds, int Subscribers)
{
    /// <summary>Whether the time of each message is kept, and not only that of the last one.</summary>
    public bool IsPaced => GapMilliseconds > 0;

    public static FeedOrder Read(LineReader line) => new(
        line.NextNumber(),
        (int)line.NextNumber(),
        (int)line.NextNumber(),
        (int)line.NextNumber(),
        (int)line.NextNumber());

    public void Write(LineWriter line) =>
        line.Add(First).Add(Messages).Add(SizeBytes).Add(GapMilliseconds).Add(Subscribers);
}

/// <summary>The measurements of the publisher of a slice, in ticks of the clock that all processes share.</summary>
/// <param name="FirstTick">The start of the first publication.</param>
/// <param name="MeanTicks">The mean time of the calls that publish.</param>
/// <param name="MedianTicks">Their median.</param>
/// <param name="Starts">The start of each, if the slice is paced.</param>
internal sealed record FeedPublished(long FirstTick, long MeanTicks, long MedianTicks, long[] Starts)
{
    public static FeedPublished Read(LineReader line) =>
        new(line.NextNumber(), line.NextNumber(), line.NextNumber(), FeedTicks.Read(line));

    public void Write(LineWriter line) =>
        FeedTicks.Write(line.Add(FirstTick).Add(MeanTicks).Add(MedianTicks), Starts);
}

/// <summary>The messages that the readers of one process got in a slice.</summary>
/// <param name="Messages">The messages of all readers.</param>
/// <param name="WrongBytes">The bytes that were wrong.</param>
/// <param name="Gaps">How often a message was not the one after the last.</param>
/// <param name="LastTicks">When the last reader had each message, if the slice is paced, else the last one.</param>
internal sealed record FeedTaken(long Messages, long WrongBytes, long Gaps, long[] LastTicks)
{
    public static FeedTaken Read(LineReader line) =>
        new(line.NextNumber(), line.NextNumber(), line.NextNumber(), FeedTicks.Read(line));

    public void Write(LineWriter line) =>
        FeedTicks.Write(line.Add(Messages).Add(WrongBytes).Add(Gaps), LastTicks);
}

file static class FeedTicks
{
    public static long[] Read(LineReader line)
    {
        long[] ticks = new long[line.NextNumber()];
        for (int i = 0; i < ticks.Length; i++)
        {
            ticks[i] = line.NextNumber();
        }

        return ticks;
    }

    public static void Write(LineWriter line, long[] ticks)
    {
        line.Add(ticks.Length);
        Array.ForEach(ticks, tick => line.Add(tick));
    }
}
