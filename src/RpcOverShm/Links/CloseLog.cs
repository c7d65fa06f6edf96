using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Links;

/// <summary>Logs the end of a link, with the level and the event that fit its reason.</summary>
internal static class CloseLog
{
    public static void Write(ILogger logger, Guid connectionId, string peer, CloseReason reason)
    {
        switch (reason.Kind)
        {
            case CloseKind.PeerLost:
                ShmLog.PeerLost(logger, connectionId, peer, reason.Text);
                break;
            case CloseKind.PeerViolation:
                ShmLog.PeerViolation(logger, connectionId, peer, reason.Text, reason.Exception);
                break;
            case CloseKind.InternalError or CloseKind.NoResources:
                ShmLog.ConnectionFailed(logger, connectionId, peer, reason.Text, reason.Exception);
                break;
            default:
                ShmLog.ConnectionClosed(logger, connectionId, peer, reason.Text);
                break;
        }
    }
}
