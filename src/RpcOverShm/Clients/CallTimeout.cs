using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>The rule by which a call's deadline, a moment in UTC, becomes a time-out from now.</summary>
internal static class CallTimeout
{
    /// <summary>Null for a call without a deadline; zero or less for one whose deadline has passed.</summary>
    /// <exception cref="InvalidOperationException">
    /// The deadline is neither UTC nor one of the two special values.
    /// </exception>
    public static TimeSpan? Of(in CallOptions options)
    {
        if (options.Deadline is not { } deadline || deadline == DateTime.MaxValue)
        {
            return null;
        }

        if (deadline == DateTime.MinValue)
        {
            return TimeSpan.Zero;
        }

        return deadline.Kind == DateTimeKind.Utc
            ? deadline - TimeProvider.System.GetUtcNow().UtcDateTime
            : throw new InvalidOperationException(
                "Deadline must have a kind DateTimeKind.Utc or be equal to DateTime.MaxValue or DateTime.MinValue.");
    }
}
