using RpcOverShm.Protocol;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>Makes legal hellos, which tests spoil field by field.</summary>
internal static class RawHello
{
    /// <summary>Returns the hello of a connection for calls.</summary>
    public static Hello Of(HelloType type, PeerLimits limits, Guid? id = null) => new()
    {
        Type = type,
        Purpose = ConnectionPurpose.Calls,
        ConnectionId = id ?? Guid.NewGuid(),
        Limits = limits,
    };
}
