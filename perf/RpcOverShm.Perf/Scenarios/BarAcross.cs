namespace RpcOverShm.Perf.Scenarios;

/// <summary>Which cell speaks for a figure that is measured in several.</summary>
internal enum BarAcross
{
    /// <summary>It is measured in one.</summary>
    OneCell,

    /// <summary>The one that comes out worst: the bar is for all.</summary>
    Worst,

    /// <summary>The one that comes out best.</summary>
    Best,
}
