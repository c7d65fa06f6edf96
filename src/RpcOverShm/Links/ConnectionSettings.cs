using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.Extensions.Logging;
using RpcOverShm.Protocol;

namespace RpcOverShm.Links;

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

    /// <summary>Whether there is a transport for this system. Another answer than the system's is for tests.</summary>
    [SupportedOSPlatformGuard("linux")]
    public bool IsPlatformSupported { get; init; } = OperatingSystem.IsLinux();

    /// <summary>The exception of a front door on a system without a transport.</summary>
    public static PlatformNotSupportedException NotSupported() => new(
        $"RpcOverShm works on Linux, on x64 and arm64; this is {RuntimeInformation.RuntimeIdentifier}. "
        + "Use gRPC over another transport here, for instance Grpc.Net.Client over a named pipe.");
}
