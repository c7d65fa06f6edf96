using System.Globalization;
using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>The checked retry policy of a method. The maximum of attempts includes the first.</summary>
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

    /// <summary>
    /// Returns the back-off after an attempt that no method has answered (gRFC A6); null, and a reason, if its failure
    /// is final. Records a retryable failure, or one whose server refuses a retry, with the throttle.
    /// </summary>
    public TimeSpan? GetBackoff(RetryThrottle? throttle, CallOutcome failure, int attempts, out CommitReason reason)
    {
        string? pushback = failure.TrailersOrNull?.GetValue(PushbackKey);
        int delay = 0;
        bool isRefused = pushback is not null
            && !int.TryParse(pushback, NumberStyles.None, CultureInfo.InvariantCulture, out delay);
        reason = CommitReason.StatusNotRetryable;
        if (!IsRetryable(failure.Status) && !isRefused)
        {
            return null;
        }

        bool isThrottled = throttle?.RecordFailure() == false;
        reason = isRefused ? CommitReason.RefusedByServer
            : attempts >= MaxAttempts ? CommitReason.AttemptsUsedUp
            : CommitReason.Throttled;
        if (isThrottled || reason != CommitReason.Throttled)
        {
            return null;
        }

        double grown = InitialBackoff.TotalMilliseconds * Math.Pow(Multiplier, attempts - 1);
        double random = Math.Min(grown, MaxBackoff.TotalMilliseconds) * Random.Shared.NextDouble();
        return TimeSpan.FromMilliseconds(pushback is null ? random : delay);
    }
}

/// <summary>The reason why one attempt of a retried call is the last one.</summary>
internal enum CommitReason
{
    /// <summary>A method has answered: with headers, a message or success.</summary>
    Answered,

    /// <summary>The policy does not name the status.</summary>
    StatusNotRetryable,

    /// <summary>The server forbids a retry (push-back).</summary>
    RefusedByServer,

    /// <summary>The policy allows no further attempt.</summary>
    AttemptsUsedUp,

    /// <summary>The throttle has too few tokens.</summary>
    Throttled,

    /// <summary>The requests exceed the retry budget.</summary>
    BufferFull,

    /// <summary>The deadline of the call has passed.</summary>
    DeadlineExceeded,

    /// <summary>A token, Dispose or the shutdown of the channel has ended the call.</summary>
    Cancelled,

    /// <summary>A request, or another input of the call, cannot be sent.</summary>
    NotSent,
}
