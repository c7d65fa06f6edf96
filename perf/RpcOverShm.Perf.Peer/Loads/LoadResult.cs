namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>The result of one slice of load for its client, or for all its clients together.</summary>
internal sealed record LoadResult
{
    /// <summary>Calls or messages including the lead-in: the server must have served as many.</summary>
    public required long All { get; init; }

    /// <summary>The start of the clock, by a monotonic clock that all processes of the machine share.</summary>
    public required long FirstTick { get; init; }

    /// <summary>The time on the clock, in <see cref="System.Diagnostics.Stopwatch"/> ticks.</summary>
    public required long ElapsedTicks { get; init; }

    /// <summary>Backlog: the time until the first answer, in ticks; 0 for any other load.</summary>
    public long FirstAnswerTicks { get; init; }

    /// <summary>Wrong bytes that the client received, those of the lead-in included.</summary>
    public required long WrongBytes { get; init; }

    /// <summary>The resources that this process used while the clock ran.</summary>
    public required ResourceSample Used { get; init; }

    /// <summary>Times of calls, or between messages, in ticks.</summary>
    public required LatencyHistogram Times { get; init; }

    /// <summary>For calls on a schedule: times from their actual start. Otherwise empty.</summary>
    public LatencyHistogram Uncorrected { get; init; } = new();

    /// <summary>Calls or messages on the clock.</summary>
    public long Measured => Times.Count;

    public static LoadResult Read(LineReader line) => new()
    {
        All = line.NextNumber(),
        FirstTick = line.NextNumber(),
        ElapsedTicks = line.NextNumber(),
        WrongBytes = line.NextNumber(),
        Used = ResourceSample.Read(line),
        Times = LatencyHistogram.Read(line),
        Uncorrected = LatencyHistogram.Read(line),
        FirstAnswerTicks = line.NextNumber(),
    };

    /// <summary>
    /// Adds up the results of several clients at the same time: from the first start to the last end.
    /// </summary>
    public static LoadResult Sum(IReadOnlyList<LoadResult> results)
    {
        var times = new LatencyHistogram();
        var uncorrected = new LatencyHistogram();
        ResourceSample used = default;
        foreach (LoadResult result in results)
        {
            times.Merge(result.Times);
            uncorrected.Merge(result.Uncorrected);
            used += result.Used;
        }

        long first = results.Min(result => result.FirstTick);
        return new LoadResult
        {
            All = results.Sum(result => result.All),
            FirstTick = first,
            ElapsedTicks = results.Max(result => result.FirstTick + result.ElapsedTicks) - first,
            WrongBytes = results.Sum(result => result.WrongBytes),
            Used = used,
            Times = times,
            Uncorrected = uncorrected,
        };
    }

    public void Write(LineWriter line)
    {
        line.Add(All).Add(FirstTick).Add(ElapsedTicks).Add(WrongBytes);
        Used.Write(line);
        Times.Write(line);
        Uncorrected.Write(line);
        line.Add(FirstAnswerTicks);
    }
}
