using Grpc.Core;
using RpcOverShm.Retries;

namespace RpcOverShm;

/// <summary>The conditions under which the channel retries a failed call (gRFC A6).</summary>
/// <remarks>
/// <para>
/// The channel retries only before the server has answered: headers or a message commit the call. Before a retry the
/// channel waits for a random part of the back-off, or for the time in the server's trailer
/// <c>grpc-retry-pushback-ms</c>. The call's deadline covers all attempts.
/// </para>
/// <para>The channel reads the policy when it is created. Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmRetryPolicy
{
    /// <summary>
    /// Gets or sets the maximum number of attempts, including the first; 2 or more.
    /// <para>Null is not allowed: the value is required.</para>
    /// </summary>
    /// <remarks>Defaults to null. <see cref="ShmChannelOptions.MaxRetryAttempts"/> limits the value.</remarks>
    public int? MaxAttempts { get; set; }

    /// <summary>
    /// Gets or sets the maximum pause before the second attempt; above zero.
    /// <para>Null is not allowed: the value is required.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public TimeSpan? InitialBackoff { get; set; }

    /// <summary>
    /// Gets or sets the maximum pause before any attempt; above zero and below 24 days.
    /// <para>Null is not allowed: the value is required.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public TimeSpan? MaxBackoff { get; set; }

    /// <summary>
    /// Gets or sets the factor by which the maximum pause grows after each attempt; above zero.
    /// <para>Null is not allowed: the value is required.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public double? BackoffMultiplier { get; set; }

    /// <summary>Gets the status codes that are retried: at least one, and not <see cref="StatusCode.OK"/>.</summary>
    public IList<StatusCode> RetryableStatusCodes { get; } = [];

    /// <summary>Returns the checked policy.</summary>
    /// <param name="path">The method config that has this policy.</param>
    /// <param name="mostAttempts">The attempts that the channel allows; null for any number.</param>
    /// <exception cref="ArgumentException">A value is missing or not allowed.</exception>
    internal RetryPolicy ToRetryPolicy(string path, int? mostAttempts)
    {
        path = $"{path}.{nameof(ShmMethodConfig.RetryPolicy)}.";
        OptionRanges.Check(MaxAttempts >= 2, MaxAttempts, path + nameof(MaxAttempts), "2 or more");
        int attempts = MaxAttempts!.Value;
        OptionRanges.Positive(InitialBackoff ?? TimeSpan.Zero, path + nameof(InitialBackoff));
        OptionRanges.Timer(MaxBackoff ?? TimeSpan.Zero, path + nameof(MaxBackoff));
        OptionRanges.Positive(BackoffMultiplier ?? 0, path + nameof(BackoffMultiplier));
        OptionRanges.Check(
            RetryableStatusCodes.Count > 0 && !RetryableStatusCodes.Contains(StatusCode.OK),
            string.Join(", ", RetryableStatusCodes),
            path + nameof(RetryableStatusCodes),
            "at least one code, and not OK");
        return new RetryPolicy(
            Math.Min(attempts, mostAttempts ?? attempts),
            InitialBackoff!.Value,
            MaxBackoff!.Value,
            BackoffMultiplier!.Value,
            RetryableStatusCodes.ToHashSet());
    }
}
