namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// The names that options had before they had groups, in sections of the configuration. The section of a program that
/// is older than its packages gets the new name, or reads that the option is gone, instead of a list of all.
/// </summary>
internal static class FormerOptions
{
    private static readonly Dictionary<string, string?> s_ofServers = new(StringComparer.OrdinalIgnoreCase)
    {
        ["AllowInPlaceParsing"] = null,
        ["RuntimeDirectory"] = "Listen:RuntimeDirectory",
        ["AllowedUsers"] = "Listen:AllowedUsers",
        ["AllowedGroup"] = "Listen:AllowedGroup",
        ["HandshakeTimeout"] = "Listen:HandshakeTimeout",
        ["MaxPendingHandshakes"] = "Listen:MaxPendingHandshakes",
        ["MaxConnections"] = "Listen:MaxConnections",
        ["MaxConnectionsPerUser"] = "Listen:MaxConnectionsPerUser",
        ["MaxConnectionsPerProcess"] = "Listen:MaxConnectionsPerProcess",
        ["MaxConcurrentCalls"] = "Limits:MaxConcurrentCalls",
        ["MaxConcurrentCallsPerConnection"] = "Limits:MaxConcurrentCallsPerConnection",
        ["MaxQueuedCalls"] = "Limits:MaxQueuedCallsPerConnection",
        ["MaxConnectionBufferSize"] = "Limits:MaxConnectionBufferSize",
        ["MaxBufferSize"] = "Limits:MaxBufferSize",
        ["MaxMetadataSize"] = "Limits:MaxMetadataSize",
        ["MaxCallbackDepth"] = "Limits:MaxCallbackDepth",
        ["RequestHeadTimeout"] = "Limits:RequestHeadTimeout",
        ["RingCapacity"] = "Ring:Capacity",
        ["MaxPeerRingCapacity"] = "Ring:MaxPeerCapacity",
    };

    private static readonly Dictionary<string, string?> s_ofChannels = new(StringComparer.OrdinalIgnoreCase)
    {
        ["AllowInPlaceParsing"] = null,
        ["EnableMultipleConnections"] = null,
        ["RuntimeDirectory"] = "Connect:RuntimeDirectory",
        ["TrustedServerUsers"] = "Connect:TrustedServerUsers",
        ["ConnectTimeout"] = "Connect:Timeout",
        ["RingCapacity"] = "Ring:Capacity",
        ["MaxPeerRingCapacity"] = "Ring:MaxPeerCapacity",
    };

    private static readonly Dictionary<string, string?> s_ofCallbacks = new(StringComparer.OrdinalIgnoreCase)
    {
        ["MaxConcurrentCallsPerConnection"] = "Limits:MaxConcurrentCallsPerConnection",
        ["MaxQueuedCalls"] = "Limits:MaxQueuedCallsPerConnection",
        ["MaxConnectionBufferSize"] = "Limits:MaxConnectionBufferSize",
        ["MaxCallbackDepth"] = "Limits:MaxCallbackDepth",
    };

    private static readonly Dictionary<string, string?> s_none = [];

    /// <summary>Returns the new names, below the same section, by the former ones; null for what is gone.</summary>
    public static IReadOnlyDictionary<string, string?> Of(Type options) =>
        options == typeof(ShmServerOptions) ? s_ofServers
        : options == typeof(ShmChannelOptions) ? s_ofChannels
        : options == typeof(ShmCallbackOptions) ? s_ofCallbacks
        : s_none;
}
