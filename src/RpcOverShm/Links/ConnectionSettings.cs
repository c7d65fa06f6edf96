using Microsoft.Extensions.Logging;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The sizes and time limits of the connections of one channel, server or stream. The public types check the values.
/// </summary>
internal sealed record ConnectionSettings
{
    public required ConnectionPurpose Purpose { get; init; }

    /// <summary>The limits that this side announces to the peer.</summary>
    public required PeerLimits Limits { get; init; }

    /// <summary>The time limit of one connection attempt, including its handshake.</summary>
    public required TimeSpan ConnectTimeout { get; init; }

    /// <summary>The limits of a listener with these settings.</summary>
    public DoorLimits Door { get; init; } = DoorLimits.None;

    /// <summary>The peers that are let in: a server's clients, or the servers that a client trusts.</summary>
    public AccessPolicy Access { get; init; } = AccessPolicy.OwnUserOnly;

    /// <summary>The maximum ring, in bytes, that the peer may announce; it is mapped into this process.</summary>
    public long MaxPeerRingCapacity { get; init; } = SegmentLayout.MaxRingCapacityBytes;

    /// <summary>The limits of loans; null if this side takes part in none.</summary>
    public LoanLimits? Loans { get; init; }

    /// <summary>The handles of calls that this side keeps for a connection; null if it takes none.</summary>
    public int? MaxHeldHandles { get; init; }

    /// <summary>The features that this side offers or takes.</summary>
    public uint Features =>
        (Loans is null ? 0 : Hello.LoansFeature)
        | (MaxTopicBytes == 0 ? 0 : Hello.TopicsFeature)
        | (MaxHeldHandles is null ? 0 : Hello.HandlesFeature);

    /// <summary>The memory of topics that a client maps for a connection; not 0 for a server; 0 for none.</summary>
    public long MaxTopicBytes { get; init; }

    /// <summary>Takes over the requests for the statistics of a listener; null if it has none.</summary>
    public Action<StatisticsRequest>? OnStatisticsWanted { get; init; }

    public required ILogger Logger { get; init; }

    /// <summary>Whether there is a transport for this system. Only tests override the default.</summary>
    public bool IsPlatformSupported { get; init; } = HostSystem.IsSupported;
}

/// <summary>
/// The limits of a listener, made from the checked options. Null stands for what the system allows; for a process or a
/// user it stands for half of all connections.
/// </summary>
internal sealed record DoorLimits(
    int MaxPendingHandshakes,
    int? MaxConnections = null,
    int? MaxConnectionsPerProcess = null,
    int? MaxConnectionsPerUser = null)
{
    /// <summary>The limits for settings that do not listen.</summary>
    public static DoorLimits None { get; } = new(int.MaxValue);
}
