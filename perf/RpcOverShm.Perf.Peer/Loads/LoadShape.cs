namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>What a client makes its server do.</summary>
internal enum LoadShape
{
    /// <summary>Requests that are answered, one at a time for each caller.</summary>
    Echo,

    /// <summary>Messages one way, from the server to the client.</summary>
    Pump,

    /// <summary>Messages one way, from the client to the server, which says at the end that it has all.</summary>
    Drain,

    /// <summary>Requests that are sent together, and all their answers awaited.</summary>
    Batch,
}
