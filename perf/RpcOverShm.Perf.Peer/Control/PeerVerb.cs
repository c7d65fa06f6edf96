namespace RpcOverShm.Perf.Peer.Control;

/// <summary>What the suite can ask of a peer.</summary>
internal enum PeerVerb
{
    /// <summary>Serve an arm at a place; the answer says where clients find it.</summary>
    Serve,

    /// <summary>Be the client of an arm's server.</summary>
    Connect,

    /// <summary>Load the server as its client.</summary>
    Run,

    /// <summary>Say what this process has used and served so far.</summary>
    Sample,

    /// <summary>Say what this process runs on.</summary>
    Facts,
}
