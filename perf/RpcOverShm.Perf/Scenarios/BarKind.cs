namespace RpcOverShm.Perf.Scenarios;

/// <summary>How a figure meets its bar.</summary>
internal enum BarKind
{
    /// <summary>Its cost over the other's is at most so many times.</summary>
    AtMostTimes,

    /// <summary>The other's cost over its own is at least so many times.</summary>
    TimesBetter,

    /// <summary>The value itself is at most so much.</summary>
    AtMost,

    /// <summary>The value itself is at least so much.</summary>
    AtLeast,
}
