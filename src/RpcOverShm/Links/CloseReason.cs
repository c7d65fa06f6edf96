using RpcOverShm.Protocol;

namespace RpcOverShm.Links;

/// <summary>
/// The reason why a connection ended. The first reason wins; all pending operations fail with it. Its text is a
/// sentence that can be the detail of a status.
/// </summary>
internal sealed record CloseReason(CloseKind Kind, string Text, Exception? Exception = null)
{
    /// <summary>The refusal that the peer is told, with the text; null to close without one.</summary>
    public RefusalReason? Refusal { get; init; } = Kind == CloseKind.PeerViolation ? RefusalReason.Violation : null;

    /// <summary>Returns the reason of a close that the peer began.</summary>
    /// <param name="peer">The peer, in words.</param>
    /// <param name="isAnnounced">Whether it announced the close.</param>
    /// <param name="rejection">Why it does not take the connection; null if it did not say so.</param>
    public static CloseReason OfPeer(string peer, bool isAnnounced, string? rejection) =>
        isAnnounced
            ? new(CloseKind.PeerClosed, $"The peer, {peer}, closed the connection.")
            : rejection is not null
                ? new(CloseKind.PeerClosed, $"The peer, {peer}, refused the connection: {rejection}")
                : new(CloseKind.PeerLost, $"The peer, {peer}, is gone or closed the connection without a word.");
}

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
