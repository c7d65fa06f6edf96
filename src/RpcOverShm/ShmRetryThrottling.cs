namespace RpcOverShm;

/// <summary>
/// Keeps a channel from trying again when the server fails most calls (gRFC A6): a count that each failure lowers by
/// one and each success raises by a part of one. While it is not above half of its largest value, nothing is tried
/// again.
/// </summary>
public sealed class ShmRetryThrottling
{
    /// <summary>The largest value of the count, and its first one. Required: above 0 and at most 1000.</summary>
    public int MaxTokens { get; set; }

    /// <summary>What a success adds to the count. Required: above 0.</summary>
    public double TokenRatio { get; set; }
}
