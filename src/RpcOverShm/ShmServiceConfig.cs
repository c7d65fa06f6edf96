namespace RpcOverShm;

/// <summary>
/// How the channel treats the methods that it calls: gRPC's service config (doc/service_config.md of gRPC), as far as
/// it has a meaning for one server. Read when the channel is made; later changes have no effect.
/// </summary>
public sealed class ShmServiceConfig
{
    /// <summary>The methods that are treated in a way of their own. Default: none.</summary>
    public IList<ShmMethodConfig> MethodConfigs { get; } = [];

    /// <summary>Bounds retries when most calls fail. Default null: they are not bounded so.</summary>
    public ShmRetryThrottling? RetryThrottling { get; set; }
}
