namespace RpcOverShm.Tool.Bench;

/// <summary>The load of a benchmark. It ends with its time or its calls, whichever comes first.</summary>
internal sealed record BenchPlan
{
    /// <summary>The most calls at a time, over all connections.</summary>
    public required int Callers { get; init; }

    /// <summary>The calls a second of an open loop; null for a closed one, whose callers do not pause.</summary>
    public double? Rate { get; init; }

    /// <summary>The longest time of the load; null for no limit.</summary>
    public TimeSpan? Duration { get; init; }

    /// <summary>The most calls; null for no limit.</summary>
    public long? Total { get; init; }

    /// <summary>The time before it, whose calls are not measured.</summary>
    public TimeSpan WarmUp { get; init; }
}
