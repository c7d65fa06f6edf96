using Grpc.Core;

namespace RpcOverShm;

/// <summary>
/// Which failures of a call are tried again by the channel (gRFC A6). Only failures before a method has answered are:
/// as soon as headers or a message came, the call is what it is. Before a further attempt the channel waits for a
/// random part of the back-off, or for as long as the server says in the trailer <c>grpc-retry-pushback-ms</c>. The
/// call's deadline covers all attempts.
/// </summary>
public sealed class ShmRetryPolicy
{
    /// <summary>
    /// The most attempts, with the first one. Required: 2 or more; more than
    /// <see cref="ShmChannelOptions.MaxRetryAttempts"/> count as that many.
    /// </summary>
    public int? MaxAttempts { get; set; }

    /// <summary>The longest pause before the second attempt. Required: above zero.</summary>
    public TimeSpan? InitialBackoff { get; set; }

    /// <summary>The longest pause before any attempt. Required: above zero.</summary>
    public TimeSpan? MaxBackoff { get; set; }

    /// <summary>How many times as long each further pause may be as the one before. Required: above zero.</summary>
    public double? BackoffMultiplier { get; set; }

    /// <summary>The statuses that are tried again. Required: at least one, and not OK.</summary>
    public IList<StatusCode> RetryableStatusCodes { get; } = [];
}
