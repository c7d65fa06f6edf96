using Grpc.Core;

namespace RpcOverShm.Retries;

/// <summary>
/// Which failures of a method are tried again, how often and after what pauses. Checked where it is made.
/// </summary>
/// <param name="MaxAttempts">With the first one.</param>
/// <param name="InitialBackoff">The longest first pause.</param>
/// <param name="MaxBackoff">The longest pause.</param>
/// <param name="Multiplier">How much longer each further pause may be.</param>
/// <param name="Codes">The statuses that are tried again.</param>
internal sealed record RetryPolicy(
    int MaxAttempts,
    TimeSpan InitialBackoff,
    TimeSpan MaxBackoff,
    double Multiplier,
    IReadOnlySet<StatusCode> Codes)
{
    /// <summary>Trailer by which a server says when to come again, in milliseconds, or not to.</summary>
    public const string PushbackKey = "grpc-retry-pushback-ms";

    /// <summary>True for a status that is not final while there may be another attempt.</summary>
    public bool IsRetryable(in Status status) => Codes.Contains(status.StatusCode);

    /// <summary>The pause after so many attempts have failed: gRFC A6, with any part of what it allows.</summary>
    /// <param name="attempts">1 or more.</param>
    /// <param name="random">A random number from 0 up to 1, without it.</param>
    public TimeSpan GetBackoff(int attempts, double random)
    {
        double grown = InitialBackoff.TotalMilliseconds * Math.Pow(Multiplier, attempts - 1);
        return TimeSpan.FromMilliseconds(Math.Min(grown, MaxBackoff.TotalMilliseconds) * random);
    }
}
