namespace RpcOverShm.Connections;

/// <summary>The kinds of end that a connection can come to.</summary>
internal enum CloseCause
{
    /// <summary>This side closed it: disposed, or done.</summary>
    Local,

    /// <summary>The peer announced that it closes, and did.</summary>
    PeerClosed,

    /// <summary>The peer's process is gone, or closed without a word.</summary>
    PeerLost,

    /// <summary>The peer broke the protocol.</summary>
    PeerViolation,

    /// <summary>Something failed on this side.</summary>
    InternalError,
}
