namespace RpcOverShm.Links;

/// <summary>Why a connection ended. The first reason wins, and everything that was pending reports it.</summary>
/// <param name="Kind">What kind of end it is.</param>
/// <param name="Text">The same for people: a sentence that can stand in a status.</param>
/// <param name="Exception">What was thrown, if anything was.</param>
internal sealed record CloseReason(CloseKind Kind, string Text, Exception? Exception = null);

/// <summary>The kinds of end that a connection can come to.</summary>
internal enum CloseKind
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
