using Microsoft.Extensions.Logging;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// Sizes and times of the connections of one channel, server or stream; checked by the front doors that make it.
/// </summary>
internal sealed record ConnectionSettings
{
    public required ConnectionPurpose Purpose { get; init; }

    /// <summary>What this side announces of itself.</summary>
    public required PeerLimits Limits { get; init; }

    /// <summary>How long a connection attempt with its handshake may take.</summary>
    public required TimeSpan ConnectTimeout { get; init; }

    public required ILogger Logger { get; init; }
}
