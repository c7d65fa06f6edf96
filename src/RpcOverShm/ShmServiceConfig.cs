namespace RpcOverShm;

/// <summary>
/// The settings of the methods that a channel calls: gRPC's service config (doc/service_config.md of gRPC).
/// </summary>
/// <remarks>
/// Contains the parts of gRPC's config that apply to a single server. The channel reads it when it is created; later
/// changes have no effect. Not thread-safe. Nothing to dispose.
/// </remarks>
public sealed class ShmServiceConfig
{
    /// <summary>Gets the configs of methods.</summary>
    /// <remarks>Empty by default.</remarks>
    public IList<ShmMethodConfig> MethodConfigs { get; } = [];

    /// <summary>
    /// Gets or sets the throttling of retries while most calls fail.
    /// <para>Null disables throttling.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public ShmRetryThrottling? RetryThrottling { get; set; }
}
