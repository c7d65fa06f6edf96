using Grpc.Core;

namespace RpcOverShm.Retries;

/// <summary>What a channel's service config says of retries. Made by the channel from its checked options.</summary>
internal sealed record RetrySettings
{
    /// <summary>
    /// By "service/method", "service/" and "/": a method's own policy goes before its service's, and that before the
    /// default. Null where a name is known to have none.
    /// </summary>
    public required IReadOnlyDictionary<string, RetryPolicy?> Policies { get; init; }

    /// <summary>Null for none.</summary>
    public required RetryThrottle? Throttle { get; init; }

    public required RetryBudget Budget { get; init; }

    /// <summary>Fires when the channel is shut down: nothing is tried again after that.</summary>
    public CancellationToken ChannelShutdown { get; init; }

    /// <summary>The policy of a method; null when failures are final.</summary>
    public RetryPolicy? Find(IMethod method) =>
        Policies.TryGetValue($"{method.ServiceName}/{method.Name}", out RetryPolicy? policy)
        || Policies.TryGetValue($"{method.ServiceName}/", out policy)
        || Policies.TryGetValue("/", out policy)
            ? policy
            : null;
}
