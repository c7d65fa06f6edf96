using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>One line from the suite to a peer, as JSON.</summary>
internal sealed record PeerRequest(PeerVerb Verb)
{
    /// <summary>The arm's name, for <see cref="PeerVerb.Serve"/> and <see cref="PeerVerb.Connect"/>.</summary>
    public string Arm { get; init; } = "";

    /// <summary>
    /// A path that nothing has yet, for <see cref="PeerVerb.Serve"/>; what the server answered, for
    /// <see cref="PeerVerb.Connect"/>.
    /// </summary>
    public string Place { get; init; } = "";

    public LoadOrder? Order { get; init; }
}
