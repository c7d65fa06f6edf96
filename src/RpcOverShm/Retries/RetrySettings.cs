using Grpc.Core;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>The retry settings of a channel's service config, made from the checked options.</summary>
internal sealed record RetrySettings
{
    /// <summary>
    /// The policies by the names of <see cref="MethodNames"/>. A null entry means no retries, also if a less specific
    /// name has a policy.
    /// </summary>
    public required IReadOnlyDictionary<string, RetryPolicy?> Policies { get; init; }

    /// <summary>The throttle of the channel; null for none.</summary>
    public required RetryThrottle? Throttle { get; init; }

    public required RetryBudget Budget { get; init; }

    /// <summary>Fires when the channel is shut down, which ends retries.</summary>
    public CancellationToken ChannelShutdown { get; init; }

    /// <summary>Returns the policy of a method; null if its failures are final.</summary>
    public RetryPolicy? Find(IMethod method) =>
        MethodNames.TryFind(Policies, method, out RetryPolicy? policy) ? policy : null;
}
