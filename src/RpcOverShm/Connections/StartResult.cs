namespace RpcOverShm.Connections;

/// <summary>The result of starting a call.</summary>
internal enum StartResult
{
    /// <summary>The connection is closed or retired; the call may start on another one.</summary>
    Closed,

    Started,

    /// <summary>The call was abandoned before it was sent.</summary>
    Abandoned,

    /// <summary>The peer's limit of concurrent calls is reached.</summary>
    TooManyCalls,

    /// <summary>The one-way call waits for capacity: the peer has not ended enough of the earlier ones.</summary>
    WindowFull,
}
