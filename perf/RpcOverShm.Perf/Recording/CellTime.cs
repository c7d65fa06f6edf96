namespace RpcOverShm.Perf.Recording;

/// <summary>What of a slice is compared from arm to arm.</summary>
internal enum CellTime
{
    /// <summary>The median call: what one caller sees.</summary>
    MedianCall,

    /// <summary>The mean call, where calls differ by design.</summary>
    MeanCall,

    /// <summary>The time on the clock over the calls or messages in it: what all callers together get done.</summary>
    PerMessage,
}
