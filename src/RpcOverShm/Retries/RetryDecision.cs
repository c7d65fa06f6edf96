using System.Globalization;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>Whether what has failed is tried again: gRFC A6. Holds nothing of a call.</summary>
internal static class RetryDecision
{
    /// <summary>
    /// The pause after an attempt that no method has answered; null when its failure is final. Counts it for the
    /// channel's throttle.
    /// </summary>
    /// <param name="policy">The method's.</param>
    /// <param name="throttle">The channel's; null for none.</param>
    /// <param name="failure">How the attempt has ended.</param>
    /// <param name="attempts">How many there were, with this one.</param>
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
