using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>Converts a call's deadline, a moment in UTC, into a timeout from now.</summary>
internal static class CallTimeout
{
    /// <summary>Returns the time left; null without a deadline, zero or less if the deadline has passed.</summary>
    /// <exception cref="InvalidOperationException">The deadline is neither UTC nor a special value.</exception>
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
