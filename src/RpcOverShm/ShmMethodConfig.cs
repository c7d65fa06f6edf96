namespace RpcOverShm;

/// <summary>How some methods are treated; a part of a <see cref="ShmServiceConfig"/>.</summary>
public sealed class ShmMethodConfig
{
    /// <summary>
    /// The methods that this is for. A method's own name goes before its service's, and that before
    /// <see cref="ShmMethodName.Default"/>. At least one; no name may occur twice in a service config.
    /// </summary>
    public IList<ShmMethodName> Names { get; } = [];

    /// <summary>Which failures are tried again. Default null: none is.</summary>
    public ShmRetryPolicy? RetryPolicy { get; set; }
}
