using RpcOverShm.Retries;

namespace RpcOverShm;

/// <summary>A token bucket that stops the channel's retries while most calls fail (gRFC A6).</summary>
/// <remarks>
/// <para>
/// Each failure that the policy would retry takes one token, and each success adds <see cref="TokenRatio"/>. The
/// channel retries only while the bucket is more than half full.
/// </para>
/// <para>The channel reads the settings when it is created. Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmRetryThrottling
{
    private const int MostTokens = 1000;

    /// <summary>Gets or sets the capacity of the bucket, which is full at first: above 0 and at most 1000.</summary>
    /// <remarks>Defaults to 0, which is not allowed: the value is required.</remarks>
    public int MaxTokens { get; set; }

    /// <summary>Gets or sets the number of tokens that a success adds; above 0.</summary>
    /// <remarks>Defaults to 0, which is not allowed: the value is required.</remarks>
    public double TokenRatio { get; set; }

    /// <summary>Returns the checked throttle.</summary>
    /// <param name="path">The option that has these settings.</param>
    /// <exception cref="ArgumentException">A value is not allowed.</exception>
    internal RetryThrottle ToThrottle(string path)
    {
        OptionRanges.Between(1, MostTokens, MaxTokens, $"{path}.{nameof(MaxTokens)}");
        OptionRanges.Positive(TokenRatio, $"{path}.{nameof(TokenRatio)}");
        return new RetryThrottle(MaxTokens, TokenRatio);
    }
}
