using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>The limits of what clients can make a server run and keep, from its checked options.</summary>
/// <param name="MaxCallsPerConnection">The methods that run at a time for one connection.</param>
/// <param name="MaxCalls">The methods that run at a time for all connections; null for no such limit.</param>
/// <param name="MaxQueuedPerConnection">The calls of one connection that may wait for their turn.</param>
/// <param name="MaxBytesPerConnection">The bytes that one connection may make the server keep.</param>
/// <param name="MaxBytes">The bytes that all connections may make the server keep.</param>
/// <param name="HeadTimeout">The time for a request head that comes in several records.</param>
internal sealed record ServerLimits(
    int MaxCallsPerConnection,
    int? MaxCalls,
    int MaxQueuedPerConnection,
    long MaxBytesPerConnection,
    long MaxBytes,
    TimeSpan HeadTimeout)
{
    // The names of the public options, for log entries and details of a status. A test compares them.
    public const string PerConnectionOption = StatusMapping.CallLimit;
    public const string CallsOption = "MaxConcurrentCalls";
    public const string QueuedOption = "MaxQueuedCallsPerConnection";
    public const string ConnectionBytesOption = "MaxConnectionBufferSize";
    public const string BytesOption = "MaxBufferSize";
    public const string HeadTimeoutOption = "RequestHeadTimeout";
    public const string DepthOption = "MaxCallbackDepth";

    /// <summary>The calls that this side takes at a time from one peer: running and waiting.</summary>
    public uint MaxAcceptedCalls =>
        (uint)Math.Min(PeerLimits.CallsPerConnection, (long)MaxCallsPerConnection + MaxQueuedPerConnection);
}
