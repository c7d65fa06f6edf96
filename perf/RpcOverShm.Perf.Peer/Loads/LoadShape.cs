namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>What a client makes its server do.</summary>
internal enum LoadShape
{
    /// <summary>Requests that come back, one at a time for each caller.</summary>
    Echo,

    /// <summary>Messages one way, from the server to the client.</summary>
    Pump,
}
