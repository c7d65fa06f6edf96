using Grpc.Core;
using RpcOverShm.Calls;
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

    /// <summary>
    /// Returns the connection of the callback whose method runs in this context, even if the server leaves it: a call
    /// that the method makes belongs to a chain that is under way. Null if there is none.
    /// </summary>
    public Connection? OfRunningCallback()
    {
        // A call that the client of this process has started is no callback: a nested call may go to another server.
        if (AmbientCall.Current is not { Name.Call.IsFromAcceptor: true } ambient)
        {
            return null;
        }

        using (_gate.Enter())
        {
            foreach (Connection one in _live)
            {
                if (one.Id == ambient.Name.ConnectionId && one.CloseReason is null)
                {
                    return one;
                }
            }
        }

        return null;
    }

    /// <summary>
    /// Makes one attempt to open an extra connection. Calls never wait for it. Returns null if the channel has lost its
    /// connection meanwhile: the extra one would belong to a session that has ended.
    /// </summary>
    /// <exception cref="ConnectException">The attempt failed, or another process than before answered.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async Task<Connection?> AddExtraAsync(CancellationToken shutdown)
    {
        if (_current is not { } current)
        {
            return null;
        }

        ConnectionSettings mine = settings with { ChannelId = current.ChannelId };
        PeerLink link = await ClientHandshake.ConnectAsync(address, mine, shutdown).ConfigureAwait(false);
        Connection extra = open(link, OnGoAway);
        return TryAdopt(extra, isExtra: true)
            ? extra
            : extra.ChannelId != _current?.ChannelId
                ? null
                : throw new ConnectException(
                    ConnectFailure.Refused,
                    $"{extra.Peer} listens at {address.Name}, and the channel is not connected to that process.");
    }

    /// <summary>
    /// Lets no more calls start on an extra connection, and closes it when its calls have ended. Has no effect on the
    /// current connection.
    /// </summary>
    public async Task RetireExtraAsync(Connection extra)
    {
        using (_gate.Enter())
        {
            if (Array.IndexOf(_open, extra) <= 0)
            {
                return;
            }

            SetOpen(Array.FindAll(_open, other => other != extra));
        }

        await RetireAsync(extra, NotNeeded).ConfigureAwait(false);
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
