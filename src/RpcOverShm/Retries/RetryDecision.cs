using System.Globalization;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>Decides whether a failed attempt is retried (gRFC A6). Stateless.</summary>
internal static class RetryDecision
{
    /// <summary>
    /// Returns the back-off after an attempt that no method has answered; null if its failure is final. Records a
    /// retryable failure, or one whose server refuses a retry, with the throttle.
    /// </summary>
    /// <param name="policy">The retry policy of the method.</param>
    /// <param name="throttle">The throttle of the channel; null for none.</param>
    /// <param name="failure">The outcome of the attempt.</param>
    /// <param name="attempts">The number of attempts so far, including this one.</param>
    public static TimeSpan? GetBackoff(RetryPolicy policy, RetryThrottle? throttle, CallOutcome failure, int attempts)
    {
        string? pushback = failure.KnownTrailers?.GetValue(RetryPolicy.PushbackKey);
        bool isRefused = pushback is not null && !IsDelay(pushback);
        if (!policy.IsRetryable(failure.Status) && !isRefused)
        {
            return null;
        }

        bool mayGoOn = throttle?.RecordFailure() ?? true;
        if (!mayGoOn || isRefused || attempts >= policy.MaxAttempts)
        {
            return null;
        }

        return pushback is null
            ? policy.GetBackoff(attempts, Random.Shared.NextDouble())
            : TimeSpan.FromMilliseconds(int.Parse(pushback, CultureInfo.InvariantCulture));
    }

    private static bool IsDelay(string pushback) =>
        int.TryParse(pushback, NumberStyles.None, CultureInfo.InvariantCulture, out _);
}
