using Grpc.Core;

namespace RpcOverShm.Retries;

/// <summary>The retry policy of a method. The channel checks the values before it makes one.</summary>
/// <param name="MaxAttempts">The maximum number of attempts, including the first one.</param>
/// <param name="InitialBackoff">The maximum first back-off.</param>
/// <param name="MaxBackoff">The maximum of any back-off.</param>
/// <param name="Multiplier">The growth of the maximum from one back-off to the next.</param>
/// <param name="Codes">The retryable status codes.</param>
internal sealed record RetryPolicy(
    int MaxAttempts,
    TimeSpan InitialBackoff,
    TimeSpan MaxBackoff,
    double Multiplier,
    IReadOnlySet<StatusCode> Codes)
{
    /// <summary>The trailer with which a server sets the back-off in milliseconds, or refuses a retry.</summary>
    public const string PushbackKey = "grpc-retry-pushback-ms";

    /// <summary>Returns whether a failure with this status may be retried.</summary>
    public bool IsRetryable(in Status status) => Codes.Contains(status.StatusCode);

    /// <summary>Returns the back-off after failed attempts: a random part of the maximum (gRFC A6).</summary>
    /// <param name="attempts">The number of failed attempts; 1 or more.</param>
    /// <param name="random">A random number in [0, 1).</param>
    public TimeSpan GetBackoff(int attempts, double random)
    {
        double grown = InitialBackoff.TotalMilliseconds * Math.Pow(Multiplier, attempts - 1);
        return TimeSpan.FromMilliseconds(Math.Min(grown, MaxBackoff.TotalMilliseconds) * random);
    }
}
