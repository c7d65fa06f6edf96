using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Links;

namespace RpcOverShm.Clients;

/// <content>
/// Extra connections beside the current one, all to the same server process. If the current one is lost, the oldest
/// extra takes its place, and the state stays Ready. If the server leaves, all of them drain.
/// </content>
internal sealed partial class Subchannel
{
    /// <summary>
    /// The close of an extra connection. As if by the server: a call that meets it is Unavailable, not Cancelled.
    /// </summary>
    public static CloseReason NotNeeded => new(CloseKind.PeerClosed, "The channel does not need the connection.");

    /// <summary>The connections that take calls, the current one first. One may just have been lost.</summary>
    public Connection[] Open => _open;

    /// <summary>Makes one attempt to open an extra connection. Calls never wait for it.</summary>
    /// <exception cref="ConnectException">The attempt failed, or another process than before answered.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async Task<Connection> AddExtraAsync(CancellationToken shutdown)
    {
        ConnectionSettings mine = settings with { ChannelId = _current?.ChannelId ?? Guid.Empty };
        PeerLink link = await ClientHandshake.ConnectAsync(address, mine, shutdown).ConfigureAwait(false);
        Connection extra = open(link, OnGoAway);
        if (!TryAdopt(extra, isExtra: true))
        {
            throw new ConnectException(
                ConnectFailure.Refused,
                $"{extra.Peer} listens at {address.Name}, and the channel is not connected to that process.");
        }

        return extra;
    }

    /// <summary>
    /// Lets no more calls start on an extra connection, and closes it when its calls have ended. Has no effect on the
    /// current connection.
    /// </summary>
    public async Task RetireExtraAsync(Connection extra)
    {
        lock (_gate)
        {
            if (Array.IndexOf(_open, extra) <= 0)
            {
                return;
            }

            SetOpen(Array.FindAll(_open, other => other != extra));
        }

        // A call that has chosen this connection and not started finds it closed, and starts on another one.
        extra.Retire();
        await extra.WhenOutgoingCallsEndAsync().ConfigureAwait(false);
        extra.SendGoAway();
        await extra.WhenIncomingCallsEndAsync().ConfigureAwait(false);
        extra.Close(NotNeeded);
    }

    // Under the gate, like the next method.
    private bool IsExtraWanted(Connection extra) =>
        _state == ConnectivityState.Ready
        && _open.Length > 0
        && _open[0].Peer == extra.Peer
        && _open[0].ChannelId == extra.ChannelId;

    private void SetOpen(Connection[] open)
    {
        _open = open;
        _current = open.Length > 0 ? open[0] : null;
    }
}
