namespace RpcOverShm.Links;

/// <summary>The limits of a listener, made from the checked options; null stands for no limit of that kind.</summary>
internal sealed record DoorLimits(int MaxPendingHandshakes, int? MaxConnections, int? MaxConnectionsPerProcess)
{
    /// <summary>The limits for settings that do not listen.</summary>
    public static DoorLimits None { get; } = new(int.MaxValue, null, null);
}
