using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>One line from a peer to the suite, as JSON; what does not belong to the verb is left out.</summary>
internal sealed record PeerReply
{
    /// <summary>Null when the peer did what it was asked to.</summary>
    public string? Error { get; init; }

    /// <summary>Where clients find the server.</summary>
    public string? Place { get; init; }

    public LoadResult? Result { get; init; }

    public ResourceSample? Sample { get; init; }

    /// <summary>See <see cref="ServedTally"/>.</summary>
    public long ServedMessages { get; init; }

    /// <summary>See <see cref="ServedTally"/>.</summary>
    public long ServedWrongBytes { get; init; }

    public RuntimeFacts? Facts { get; init; }
}
