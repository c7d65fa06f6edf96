namespace RpcOverShm.Links;

/// <summary>
/// The reason why a connection ended. The first reason wins; all pending operations fail with it. Its text is a
/// sentence that can be the detail of a status.
/// </summary>
internal sealed record CloseReason(CloseKind Kind, string Text, Exception? Exception = null);

/// <summary>The ways in which a connection can end.</summary>
internal enum CloseKind
{
    /// <summary>This side closed the connection.</summary>
    Local,

    /// <summary>The peer announced its close and then closed the connection.</summary>
    PeerClosed,

    /// <summary>The peer's process is gone, or it closed the connection without an announcement.</summary>
    PeerLost,

    /// <summary>The peer broke the protocol.</summary>
    PeerViolation,

    /// <summary>Something failed on this side.</summary>
    InternalError,

    /// <summary>This side's system has no more of something that the connection needs.</summary>
    NoResources,
}
